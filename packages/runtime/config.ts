import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import Type, { type Static, type TSchema } from 'typebox';
import Value from 'typebox/value';
import { networkFaults } from './network-address.ts';

const port = (standard: number) => Type.Integer({ minimum: 0, maximum: 65535, default: standard });
const milliseconds = (standard: number, minimum = 1, maximum = 86_400_000) =>
  Type.Integer({ minimum, maximum, default: standard });
/** Text of a form; `rule` describes it in messages. */
const form = (pattern: string, rule: string) => Type.String({ pattern, description: rule });
const databaseUrl = Type.Optional(form('^postgres(ql)?://', 'must begin with postgres:// or postgresql://'));
const httpUrl = Type.Optional(form('^https?://', 'must begin with http:// or https://'));
const count = (standard: number, minimum = 1) => Type.Integer({ minimum, default: standard });

/** Every setting by its environment variable; docs/settings.md explains them. */
const Settings = Type.Object({
  DATABASE_URL: databaseUrl,
  QUERY_DATABASE_URL: databaseUrl,
  FLEET_DATABASE_URL: databaseUrl,
  ACCESS_DATABASE_URL: databaseUrl,
  REGISTRATION_DATABASE_URL: databaseUrl,
  COMMAND_DATABASE_URL: databaseUrl,
  CONSOLE_DATABASE_URL: databaseUrl,
  EVENTS_DATABASE_URL: databaseUrl,
  INGEST_DATABASE_URL: databaseUrl,
  BROKER_DATABASE_URL: databaseUrl,
  GATEWAY_DATABASE_URL: databaseUrl,
  MIGRATION_DATABASE_URL: databaseUrl,
  DATABASE_POOL_SIZE: count(10),
  REDIS_URL: Type.Optional(form('^rediss?://', 'must begin with redis:// or rediss://')),
  REDIS_ALLOW_DATA_LOSS: Type.Boolean({ default: false }),
  QUEUE_PREFIX: Type.String({ pattern: '^[A-Za-z0-9_{}-]+$', default: 'odograph' }),
  HTTP_HOST: Type.String({ minLength: 1, default: '127.0.0.1' }),
  HTTP_PORT: port(8080),
  ODOGRAPH_URL: httpUrl,
  /** Number of trusted proxies, or their networks. */
  HTTP_TRUST_PROXY: Type.String({ default: '0' }),
  HTTP_MAX_CONNECTIONS: count(10_000),
  HTTP_CONNECTIONS_PER_ADDRESS: count(1000),
  HTTP_REQUEST_TIMEOUT_MS: milliseconds(30_000, 1000),
  HTTP_REQUESTS_PER_MINUTE: count(6000),
  METRICS_NETWORKS: Type.String({ default: '127.0.0.0/8,::1' }),
  METRICS_TOKEN: Type.Optional(form('^[^,\\s]{16,}$', 'must be a token of at least 16 characters')),
  HTTP_ANSWER_BUFFER_BYTES: count(128 * 1024 ** 2, 1024 ** 2),
  HTTP_MIN_READ_BYTES_PER_SECOND: count(32 * 1024),
  LOGIN_ATTEMPTS_PER_MINUTE: count(20),
  MQTT_HOST: Type.String({ minLength: 1, default: '127.0.0.1' }),
  MQTT_PORT: port(1883),
  MQTTS_PORT: port(8883),
  MQTT_URL: Type.Optional(form('^mqtts?://', 'must begin with mqtt:// or mqtts://')),
  MQTT_PUBLIC_URL: Type.Optional(form('^mqtts?://', 'must begin with mqtt:// or mqtts://')),
  MQTT_TLS_CERTIFICATE: Type.Optional(Type.String({ minLength: 1 })),
  MQTT_TLS_KEY: Type.Optional(Type.String({ minLength: 1 })),
  MQTT_TLS_CLIENT_CA: Type.Optional(Type.String({ minLength: 1 })),
  MQTT_TLS_CLIENT_CRL: Type.Optional(Type.String({ minLength: 1 })),
  MQTT_MAX_CONNECTIONS: count(100_000),
  MQTT_MAX_UNAUTHENTICATED: count(10_000),
  MQTT_MAX_UNAUTHENTICATED_PER_ADDRESS: count(5000),
  MQTT_DEVICE_UPLOADS_PER_SECOND: count(50),
  MQTT_DEVICE_BYTES_PER_SECOND: count(512 * 1024),
  MQTT_FAILURES_PER_DEVICE: count(10),
  MQTT_FAILURES_PER_ADDRESS: count(300),
  TELTONIKA_HOST: Type.String({ minLength: 1, default: '127.0.0.1' }),
  TELTONIKA_PORT: port(5027),
  TELTONIKA_TLS_PORT: port(0),
  TELTONIKA_UDP: Type.Boolean({ default: true }),
  /** Networks that Teltonika devices may report from; all by default. */
  TELTONIKA_NETWORKS: Type.Optional(Type.String()),
  TELTONIKA_MAX_CONNECTIONS: count(50_000),
  TELTONIKA_ADDRESS_PACKETS_PER_SECOND: count(5000),
  TELTONIKA_ADDRESS_BYTES_PER_SECOND: count(16 * 1024 ** 2),
  DATA_DIR: Type.String({ minLength: 1, default: '.odograph' }),
  /** DATA_DIR/exports when left out. */
  EXPORT_DIRECTORY: Type.Optional(Type.String({ minLength: 1 })),
  EXPORT_MAX_BYTES: count(20 * 1024 ** 3, 1024 ** 2),
  EXPORT_JOBS_PER_APPLICATION: count(10),
  /** One token, or during a rotation two separated by a comma, newest first; both are accepted. */
  ADMIN_TOKEN: Type.Optional(
    form('^[^,\\s]{16,}(,[^,\\s]{16,})?$', 'must be a token of at least 16 characters, or two separated by a comma'),
  ),
  /** Newest first, separated by commas: the first encrypts, all of them decrypt. */
  ENCRYPTION_KEYS: Type.Optional(
    form('^[^,\\s]{32,}(,[^,\\s]{32,})*$', 'must be keys of at least 32 characters, separated by commas'),
  ),
  ALLOW_UNREADABLE_VALUES: Type.Boolean({ default: false }),
  ALLOW_INCOMPLETE_DATABASE: Type.Boolean({ default: false }),
  ACK_TIMEOUT_MS: milliseconds(10_000, 100, 60_000),
  /** Longest validity of an authorization token. */
  AUTHORIZATION_MAX_DAYS: Type.Integer({ minimum: 1, maximum: 36_500, default: 366 }),
  ACCESS_TOKEN_SECONDS: count(3600),
  REFRESH_TOKEN_SECONDS: count(30 * 86_400),
  SESSION_SECONDS: count(90 * 86_400),
  UPLOAD_BATCH_MS: Type.Integer({ minimum: 0, maximum: 1000, default: 5 }),
  UPLOAD_BATCH_SIZE: Type.Integer({ minimum: 1, maximum: 5000, default: 500 }),
  UPLOAD_BACKLOG_JOBS: count(20_000),
  UPLOAD_BACKLOG_BYTES: count(2 * 1024 ** 3),
  UPLOAD_HELD_BYTES: count(64 * 1024 ** 2),
  SOURCE_REQUESTS_PER_SECOND: count(500),
  SOURCE_BYTES_PER_SECOND: count(4 * 1024 ** 2),
  SOURCE_NEW_DEVICES_PER_HOUR: count(1000),
  /** Address of flespi's interface, to which commands are sent. */
  FLESPI_URL: Type.String({ pattern: '^https?://[^/?#]+$', default: 'https://flespi.io' }),
  UPLOAD_MAX_DELAY_SECONDS: count(120),
  INGEST_TRANSACTIONS: Type.Integer({ minimum: 1, maximum: 64, default: 2 }),
  READING_MAX_AGE_DAYS: Type.Integer({ minimum: 1, maximum: 36_500, default: 730 }),
  READING_NEW_CHUNKS_PER_HOUR: count(30),
  QUARANTINE_UPLOADS_PER_HOUR: count(1000),
  QUARANTINE_RETENTION_DAYS: Type.Integer({ minimum: 0, default: 90 }),
  TRIPS_PAUSE_MS: milliseconds(5000),
  COMPRESS_AFTER_DAYS: count(7),
  RETENTION_DAYS: Type.Integer({ minimum: 0, default: 0 }),
  COMMAND_RETENTION_DAYS: Type.Integer({ minimum: 0, default: 0 }),
  BOOKING_RETENTION_DAYS: Type.Integer({ minimum: 0, default: 0 }),
  ALARM_RETENTION_DAYS: Type.Integer({ minimum: 0, default: 0 }),
  AUDIT_RETENTION_DAYS: Type.Integer({ minimum: 0, default: 0 }),
  EVENT_RETENTION_DAYS: Type.Integer({ minimum: 7, maximum: 30, default: 7 }),
  REGISTRATION_PROVIDER_URL: httpUrl,
  REGISTRATION_PROVIDER_KEY: Type.Optional(Type.String({ pattern: '^[!-~]([ -~]*[!-~])?$' })),
  REGISTRATION_PROVIDER_KEY_HEADER: Type.String({ pattern: '^[A-Za-z0-9-]+$', default: 'x-api-key' }),
  REGISTRATION_PROVIDER_MAPPING: Type.Optional(Type.String({ minLength: 1 })),
  REGISTRATION_PROVIDER_TIMEOUT_MS: milliseconds(3000, 1, 60_000),
  REGISTRATION_PROVIDER_FAILURES: count(5),
  REGISTRATION_PROVIDER_PAUSE_MS: milliseconds(60_000),
  REGISTRATION_PROVIDER_CALLS_PER_MINUTE: count(120),
  REGISTRATION_CACHE_SECONDS: count(30 * 86_400),
  REGISTRATION_NEGATIVE_CACHE_SECONDS: count(86_400),
  MAP_TILES: Type.Optional(form('^(?!https?://)', 'must be a PMTiles file; MAP_TILES_URL is for an address')),
  MAP_TILES_URL: Type.Optional(
    form(
      '^https?://[^/?#{}]+/(?=.*\\{z\\})(?=.*\\{x\\})(?=.*\\{y\\})',
      'must be an address with {z}, {x} and {y}, such as https://tiles.example/{z}/{x}/{y}.png',
    ),
  ),
  MAP_STYLE_URL: httpUrl,
  MAP_ATTRIBUTION: Type.Optional(Type.String({ maxLength: 500 })),
  HOME_ASSISTANT_MQTT_URL: Type.Optional(form('^mqtts?://', 'must begin with mqtt:// or mqtts://')),
  HOME_ASSISTANT_APPLICATIONS: Type.Optional(
    form('^[A-Za-z0-9_-]+(,[A-Za-z0-9_-]+)*$', 'must be the appIds of applications, separated by commas'),
  ),
  HOME_ASSISTANT_DISCOVERY_PREFIX: Type.String({ pattern: '^[^#+]+$', default: 'homeassistant' }),
  /** Networks that webhooks may be delivered to although they are not public, also without TLS. */
  WEBHOOK_ALLOWED_NETWORKS: Type.String({ default: '' }),
  SHUTDOWN_TIMEOUT_MS: milliseconds(15_000),
  SHUTDOWN_DRAIN_MS: milliseconds(2000, 0),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl,
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { default: 'info' }),
});
type Settings = Static<typeof Settings>;

/** All settings, validated and frozen. */
export type Config = Readonly<Settings> & { readonly LOG_LEVEL: string };

/** Settings for services, with the addresses of the engines, given or embedded. */
export type ResolvedConfig = Config & {
  readonly DATABASE_URL: string;
  readonly QUERY_DATABASE_URL: string;
  readonly REDIS_URL: string;
  readonly MQTT_URL: string;
  /** False for the embedded Redis in memory: its queues do not survive a crash. */
  readonly REDIS_IS_DURABLE: boolean;
};

/** Adds the addresses of embedded engines to the settings. */
export function resolveConfig(
  config: Config,
  engines: { databaseUrl: string; redisUrl: string; redisIsDurable?: boolean },
): ResolvedConfig {
  return Object.freeze({
    ...config,
    DATABASE_URL: engines.databaseUrl,
    QUERY_DATABASE_URL: config.QUERY_DATABASE_URL ?? engines.databaseUrl,
    REDIS_URL: engines.redisUrl,
    REDIS_IS_DURABLE: engines.redisIsDurable ?? true,
    MQTT_URL: config.MQTT_URL ?? `mqtt://${config.MQTT_HOST}:${config.MQTT_PORT}`,
  });
}

/** The setting that names the database of each service, in its own role. */
export const serviceDatabaseNames = {
  broker: 'BROKER_DATABASE_URL',
  gateway: 'GATEWAY_DATABASE_URL',
  ingest: 'INGEST_DATABASE_URL',
  query: 'QUERY_DATABASE_URL',
  fleet: 'FLEET_DATABASE_URL',
  access: 'ACCESS_DATABASE_URL',
  registration: 'REGISTRATION_DATABASE_URL',
  command: 'COMMAND_DATABASE_URL',
  console: 'CONSOLE_DATABASE_URL',
  events: 'EVENTS_DATABASE_URL',
} as const satisfies Record<string, keyof Settings>;

/** Returns the settings of one service, with its own DATABASE_URL if it has one. */
export function configOfService(config: ResolvedConfig, service: string): ResolvedConfig {
  const own = Object.entries(serviceDatabaseNames).find(([name]) => name === service)?.[1];
  return Object.freeze({ ...config, DATABASE_URL: (own && config[own]) ?? config.DATABASE_URL });
}

/** Invalid settings; the message lists all faults, one per line. */
export class InvalidSettings extends Error {
  constructor(faults: readonly string[]) {
    super(`invalid settings:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'InvalidSettings';
  }
}

/** Reads a variable, or the file that NAME_FILE names: how container platforms pass secrets. @throws when the file is unreadable */
function readVariable(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const file = environment[`${name}_FILE`];
  if (environment[name] || !file) return environment[name];
  return readFileSync(file, 'utf8').trim();
}

/** Replaces fractions, of which Value.Convert would make whole numbers, by what no number is. */
function withoutFractions(given: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => [
      name,
      /^\s*[-+]?\d+\.\d/.test(text) && isWhole(name) ? Number.NaN : text,
    ]),
  );
}

function isWhole(name: string): boolean {
  const schema: TSchema | undefined = Object.entries<TSchema>(Settings.properties).find(([key]) => key === name)?.[1];
  return schema !== undefined && 'type' in schema && schema.type === 'integer';
}

/** Checks each setting apart, since one validation of all would stop after a number of errors. */
function settingFaults(settings: unknown): string[] {
  return Object.entries<TSchema>(Settings.properties).flatMap(([name, schema]) => {
    const value = Object(settings)[name];
    const errors = value === undefined ? [] : Value.Errors(schema, value);
    if (errors.length === 0) return [];
    const description = 'description' in schema ? String(schema.description) : undefined;
    return [`${name}: ${description ?? describeSchemaFaults(errors).rule}`];
  });
}

/** Settings that need another one. */
const partners = {
  MQTT_TLS_CERTIFICATE: 'MQTT_TLS_KEY',
  MQTT_TLS_CLIENT_CRL: 'MQTT_TLS_CLIENT_CA',
  HOME_ASSISTANT_MQTT_URL: 'HOME_ASSISTANT_APPLICATIONS',
  TELTONIKA_TLS_PORT: 'MQTT_TLS_CERTIFICATE',
} as const;

/** Names the partners that are missing; a port of 0 is closed and needs none. */
function missingPartners(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(partners).flatMap(([name, partner]) =>
    (settings[name] ?? '0') !== '0' && settings[partner] === undefined ? [`${partner}: is required with ${name}`] : [],
  );
}

/** Checks the settings of the map: their addresses, and that there is one map. */
function mapFaults(settings: Readonly<Record<string, string>>): string[] {
  const given = ['MAP_TILES', 'MAP_TILES_URL', 'MAP_STYLE_URL'].filter((name) => settings[name] !== undefined);
  const [one, ...others] = given;
  return [
    ...given.flatMap((name) =>
      name !== 'MAP_TILES' && !URL.canParse(settings[name] ?? '') ? [`${name}: must be an address`] : [],
    ),
    ...others.map((name) => `${name}: cannot be combined with ${one}`),
  ];
}

/**
 * Reads the settings from environment variables; an empty variable counts as not set, and NAME_FILE names a file with the value.
 * @throws InvalidSettings naming every variable that is at fault
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const given: Record<string, string> = {};
  const unreadable: string[] = [];
  for (const name of Object.keys(Settings.properties)) {
    try {
      const value = readVariable(environment, name);
      if (value !== undefined && value !== '') given[name] = value;
    } catch (error) {
      unreadable.push(`${name}_FILE: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (unreadable.length > 0) throw new InvalidSettings(unreadable);
  const settings = Value.Convert(Settings, Value.Default(Settings, withoutFractions(given)));
  const faults = settingFaults(settings);
  faults.push(...networkFaults(given), ...mapFaults(given));
  faults.push(...missingPartners(given));
  if (faults.length > 0) throw new InvalidSettings(faults);
  return Object.freeze(settings) as Config;
}

/** The directory for files of the user who runs a command (XDG Base Directory Specification). */
export function userDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CONFIG_HOME: directory = '', HOME: home = homedir() } = environment;
  return join(isAbsolute(directory) ? directory : join(home, '.config'), 'odograph');
}

/** Whether npm runs this process for a script of package.json, as its only command. */
export function startedByNpm(environment: NodeJS.ProcessEnv = process.env): boolean {
  return environment['npm_lifecycle_event'] === 'start' || environment['npm_lifecycle_event'] === 'demo';
}

/** Builds the environment of a child process: that of this process, overridden by these settings. */
export function childEnvironment(settings: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...settings };
}

/** File in the data directory with the addresses of the embedded engines while the platform runs, for the command line. */
export const embeddedEnginesFile = 'engines.json';
