import Type from 'typebox';

/**
 * Texts of a setting beside its schema: `description` and `unit` are for the table of docs/settings.md, `absent` is its
 * default there when the schema has none, and `rule` is the message about a value that breaks its pattern.
 */
interface Texts {
  readonly description: string;
  readonly unit?: string;
  readonly absent?: string;
  readonly rule?: string;
}

const port = (standard: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: standard, description });
const whole = (standard: number, description: string, unit?: string, minimum = 1, maximum?: number) =>
  Type.Integer({ minimum, ...(maximum && { maximum }), default: standard, description, ...(unit && { unit }) });
const milliseconds = (standard: number, description: string, minimum = 1, maximum = 86_400_000) =>
  whole(standard, description, 'ms', minimum, maximum);
const seconds = (standard: number, description: string) => whole(standard, description, 's');
/** Days after which rows are removed; 0 keeps them. */
const retention = (standard: number, description: string) => whole(standard, description, 'days', 0);
const bytes = (standard: number, description: string, minimum = 1) => whole(standard, description, 'bytes', minimum);
const text = (standard: string, description: string, pattern = '.') =>
  Type.String({ pattern, default: standard, description });
const flag = (description: string) => Type.Boolean({ default: false, description });
const optional = (pattern: string, texts: Texts) => Type.Optional(Type.String({ pattern, ...texts }));
const file = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));

const databaseUrl = (description: string, absent = 'the same') =>
  optional('^postgres(ql)?://', { rule: 'must begin with postgres:// or postgresql://', description, absent });
const roleUrl = (service: string) =>
  databaseUrl(`database of the ${service} service, signed in as its role ([security.md](security.md))`);
const httpUrl = (description: string, absent = 'none') =>
  optional('^https?://', { rule: 'must begin with http:// or https://', description, absent });
const mqttUrl = (description: string, absent = 'none') =>
  optional('^mqtts?://', { rule: 'must begin with mqtt:// or mqtts://', description, absent });

/** Every setting by its environment variable. `npm run settings:docs` writes the table of docs/settings.md from it. */
export const Settings = Type.Object({
  DATABASE_URL: databaseUrl('PostgreSQL with TimescaleDB', 'embedded'),
  QUERY_DATABASE_URL: databaseUrl('for reads: a role without write access, or a replica'),
  FLEET_DATABASE_URL: roleUrl('fleet'),
  ACCESS_DATABASE_URL: roleUrl('access'),
  REGISTRATION_DATABASE_URL: roleUrl('registration'),
  COMMAND_DATABASE_URL: roleUrl('command'),
  CONSOLE_DATABASE_URL: roleUrl('console'),
  EVENTS_DATABASE_URL: roleUrl('events'),
  INGEST_DATABASE_URL: roleUrl('ingest'),
  BROKER_DATABASE_URL: roleUrl('broker'),
  GATEWAY_DATABASE_URL: roleUrl('gateway'),
  MIGRATION_DATABASE_URL: databaseUrl(
    'the database as the owner of the tables, for `npm run migrate`, `backup`, `restore` and `doctor`',
  ),
  DATABASE_POOL_SIZE: whole(10, 'connections a service'),
  REDIS_URL: optional('^rediss?://', {
    rule: 'must begin with redis:// or rediss://',
    description: 'Redis with `appendonly yes`, `appendfsync always`, `maxmemory-policy noeviction`',
    absent: 'embedded',
  }),
  REDIS_ALLOW_DATA_LOSS: flag(
    'true starts on a Redis that can lose acknowledged uploads (no AOF, no fsync on every write, or an evicting policy); logged, and shown in /health and `odograph_redis_durable`',
  ),
  QUEUE_PREFIX: text('odograph', 'prefix of every key in Redis', '^[A-Za-z0-9_{}-]+$'),
  HTTP_HOST: text('127.0.0.1', 'address of the HTTP listener'),
  HTTP_PORT: port(8080, 'port of the HTTP listener'),
  ODOGRAPH_URL: httpUrl('address of the platform for the command line', 'from host and port'),
  HTTP_TRUST_PROXY: Type.String({
    default: '0',
    description:
      'behind proxies that set `X-Forwarded-For`: their number, or their networks such as `10.0.0.0/8,fd00::/8`',
  }),
  HTTP_MAX_CONNECTIONS: whole(10_000, 'more are closed; less where the descriptor limit of the process is low'),
  HTTP_CONNECTIONS_PER_ADDRESS: whole(
    1000,
    'for each IPv4 address or IPv6 /64, without trusted proxies; more are closed',
  ),
  HTTP_REQUEST_TIMEOUT_MS: milliseconds(30_000, 'for a request to arrive completely, otherwise 408', 1000),
  HTTP_REQUESTS_PER_MINUTE: whole(6000, 'for each address; more are answered 429'),
  METRICS_NETWORKS: Type.String({ default: '127.0.0.0/8,::1', description: 'read `/metrics` without a token' }),
  METRICS_TOKEN: optional('^[^,\\s]{16,}$', {
    rule: 'must be a token of at least 16 characters',
    description: 'grants access to `/metrics` from any network, and nothing else; at least 16 characters',
  }),
  HTTP_ANSWER_BUFFER_BYTES: bytes(
    128 * 1024 ** 2,
    'answers of the query service in memory until clients have read them; a token can hold a quarter, an application half',
    1024 ** 2,
  ),
  LOGIN_ATTEMPTS_PER_MINUTE: whole(20, 'wrong passwords or keys, for each appId, account and address separately'),
  MQTT_HOST: text('127.0.0.1', 'address of the MQTT listeners'),
  MQTT_PORT: port(1883, 'port of the MQTT listener'),
  MQTTS_PORT: port(8883, 'MQTT over TLS, only with a certificate'),
  MQTT_URL: mqttUrl('address of the broker for the command service and the gateway', 'from host and port'),
  MQTT_PUBLIC_URL: mqttUrl(
    'address at which devices reach the broker, as the console shows it with the settings of a device: `mqtts://telematics.example.com:8883`',
    'from host and ports',
  ),
  MQTT_TLS_CERTIFICATE: file('PEM file'),
  MQTT_TLS_KEY: file('PEM file'),
  MQTT_TLS_CLIENT_CA: file('PEM file of the authorities that sign client certificates of devices'),
  MQTT_TLS_CLIENT_CRL: file('PEM file with the revocation lists of these authorities'),
  MQTT_MAX_CONNECTIONS: whole(
    100_000,
    'upper limit on both ports together; a process opens fewer when its file descriptors allow fewer (logged at its start)',
  ),
  MQTT_DEVICE_UPLOADS_PER_SECOND: whole(
    50,
    "sustained rate of publications of one device, with bursts of ten seconds' worth; above it nothing is read from the device until it is below. The same rate, but at least 10, applies to other packets ([device-protocol.md](device-protocol.md#upload-readings)); a session far above it is closed. `npx odograph application set --app APPID --device-uploads-per-second N` sets another rate for the devices of an application, from their next connection on",
  ),
  MQTT_DEVICE_BYTES_PER_SECOND: bytes(
    512 * 1024,
    'the same in bytes; 1/32 of it, with bursts of 4 s, has priority, and uploads beyond that wait behind those of other devices; `--device-bytes-per-second N` for an application',
  ),
  MQTT_FAILURES_PER_DEVICE: whole(
    10,
    'failed CONNECTs a minute of one device id from one address; further failures are answered a second late',
  ),
  MQTT_FAILURES_PER_ADDRESS: whole(300, 'the same for one IPv4 address or IPv6 /64, whatever the ids'),
  TELTONIKA_HOST: text('127.0.0.1', 'address of the Teltonika listeners'),
  TELTONIKA_PORT: port(
    5027,
    'TCP and UDP for Teltonika devices ([devices/teltonika.md](devices/teltonika.md)); 0 closes both',
  ),
  TELTONIKA_TLS_PORT: port(0, 'the same over TLS, with the certificate of `MQTT_TLS_CERTIFICATE`'),
  TELTONIKA_UDP: Type.Boolean({
    default: true,
    description: 'false disables UDP, whose source addresses can be forged',
  }),
  TELTONIKA_NETWORKS: Type.Optional(
    Type.String({
      absent: 'all',
      description:
        "networks such as `10.20.0.0/16,fd00::/8` that Teltonika devices may report from, over TCP, TLS and UDP; others are refused before a byte is read. Behind a load balancer, the balancer's address counts",
    }),
  ),
  TELTONIKA_MAX_CONNECTIONS: whole(
    50_000,
    'upper limit on TCP and TLS together; less where the file descriptors of the process allow less. The rates of a device and the limits on connections without a known device are those of MQTT',
  ),
  DATA_DIR: text('.odograph', 'embedded data and `admin-token` (mode 600, created at the first start)'),
  EXPORT_DIRECTORY: Type.Optional(
    Type.String({
      minLength: 1,
      absent: '`DATA_DIR/exports`',
      description: 'files of export jobs (mode 600), kept a day; all query processes need the same directory',
    }),
  ),
  EXPORT_MAX_BYTES: bytes(20 * 1024 ** 3, 'all files in it together; a job beyond fails and says so', 1024 ** 2),
  EXPORT_JOBS_PER_APPLICATION: whole(10, 'export jobs of an application, those whose file is kept included'),
  ADMIN_TOKEN: optional('^[^,\\s]{16,}(,[^,\\s]{16,})?$', {
    rule: 'must be a token of at least 16 characters, or two separated by a comma',
    absent: "the file's",
    description:
      'at least 16 characters, or during a rotation two tokens separated by a comma, newest first, both accepted; equal in all processes of an installation',
  }),
  ENCRYPTION_KEYS: optional('^[^,\\s]{32,}(,[^,\\s]{32,})*$', {
    rule: 'must be keys of at least 32 characters, separated by commas',
    absent: 'a file in `DATA_DIR`',
    description:
      'secrets of 32 characters or more, newest first, separated by commas: the first encrypts stored secrets, all of them decrypt',
  }),
  ALLOW_UNREADABLE_VALUES: flag(
    'start although stored device keys, quarantined uploads or tokens of sources cannot be decrypted, because their key is lost',
  ),
  ALLOW_INCOMPLETE_DATABASE: flag(
    'start although a restore lost schema objects or readings ([operating.md](operating.md), "Back up and restore")',
  ),
  ACK_TIMEOUT_MS: milliseconds(10_000, 'longest wait for the acknowledgement of a command', 100, 60_000),
  AUTHORIZATION_MAX_DAYS: whole(366, 'longest validity of an authorization token (Bluetooth)', 'days', 1, 36_500),
  SESSION_SECONDS: seconds(90 * 86_400, 'how long a login can be refreshed in all'),
  UPLOAD_BACKLOG_JOBS: whole(
    20_000,
    "limit of the backlog: above it, above `UPLOAD_BACKLOG_BYTES`, or above three quarters of Redis's `maxmemory`, uploads are not acknowledged; above half of one of them, late uploads are not",
  ),
  UPLOAD_BACKLOG_BYTES: bytes(2 * 1024 ** 3, 'the same in bytes'),
  UPLOAD_HELD_BYTES: bytes(
    64 * 1024 ** 2,
    'unacknowledged uploads that a broker or gateway holds in memory; above it connections are closed',
  ),
  SOURCE_REQUESTS_PER_SECOND: whole(
    500,
    'of one source at the endpoints `/in/…` of a gateway process, with a burst of 10 s; more are answered 429. A device with its own secret has the rates of MQTT',
  ),
  SOURCE_BYTES_PER_SECOND: bytes(4 * 1024 ** 2, 'the same in bytes'),
  SOURCE_NEW_DEVICES_PER_HOUR: whole(
    1000,
    'devices that one source with `createDevices` may create in an hour; messages of further ones go to quarantine',
  ),
  FLESPI_URL: text(
    'https://flespi.io',
    'address of flespi, to which the gateway sends commands ([devices/flespi.md](devices/flespi.md))',
    '^https?://[^/?#]+$',
  ),
  UPLOAD_MAX_DELAY_SECONDS: seconds(
    120,
    '/health fails while a live upload waits longer than this to be stored; when no upload at all is stored, it fails within 15 s',
  ),
  READING_MAX_AGE_DAYS: whole(
    730,
    'older readings go to quarantine (`TOO_OLD`); a replay by the operator stores them',
    'days',
    1,
    36_500,
  ),
  READING_NEW_CHUNKS_PER_HOUR: whole(
    30,
    'weeks (from Thursday, 0:00 UTC) without any data that one device may open in an hour; further readings go to quarantine (`TOO_MANY_CHUNKS`)',
  ),
  QUARANTINE_UPLOADS_PER_HOUR: whole(
    1000,
    'uploads of one device quarantined in an hour, excluding those with only dropped values; further ones are only counted, in one row',
  ),
  QUARANTINE_RETENTION_DAYS: retention(90, 'remove older uploads from quarantine; 0 keeps them'),
  TRIPS_PAUSE_MS: milliseconds(5000, "shortest interval between two updates of a vehicle's trips"),
  RETENTION_DAYS: retention(
    0,
    'remove readings older than this, in whole weeks, so up to seven days later, and the end points of trips; 0 keeps them',
  ),
  COMMAND_RETENTION_DAYS: retention(0, 'remove commands that ended longer ago; 0 keeps them'),
  BOOKING_RETENTION_DAYS: retention(0, 'remove bookings and authorizations that ended longer ago; 0 keeps them'),
  ALARM_RETENTION_DAYS: retention(0, 'remove alarms that were cleared longer ago; 0 keeps them'),
  AUDIT_RETENTION_DAYS: retention(0, 'remove older audit rows; the chains still verify; 0 keeps them'),
  EVENT_RETENTION_DAYS: whole(
    7,
    'remove older events ([interface.md](interface.md#events)), 7 to 30; stored readings are kept as events for 30 days',
    'days',
    7,
    30,
  ),
  REGISTRATION_PROVIDER_URL: httpUrl(
    'URL of a provider of registration data, with `{plate}` and `{vin}` ([registration.md](registration.md))',
  ),
  REGISTRATION_PROVIDER_KEY: optional('^[!-~]([ -~]*[!-~])?$', { description: 'key for the provider' }),
  REGISTRATION_PROVIDER_KEY_HEADER: text('x-api-key', 'header that carries the key', '^[A-Za-z0-9-]+$'),
  REGISTRATION_PROVIDER_MAPPING: file("JSON file that maps our fields to paths in the provider's answer"),
  MAP_TILES: optional('^(?!https?://)', {
    absent: '`DATA_DIR/map.pmtiles`, if it exists',
    rule: 'must be a PMTiles file; MAP_TILES_URL is for an address',
    description:
      "PMTiles file for the console's map ([console.md](console.md)); a file that cannot be used is logged and shown in /health, and the map shows outlines of countries",
  }),
  MAP_TILES_URL: optional('^https?://[^/?#{}]+/(?=.*\\{z\\})(?=.*\\{x\\})(?=.*\\{y\\})', {
    rule: 'must be an address with {z}, {x} and {y}, such as https://tiles.example/{z}/{x}/{y}.png',
    description:
      'instead of a file, the address of images, such as `https://tiles.example/{z}/{x}/{y}.png`; browsers load them from there',
  }),
  MAP_STYLE_URL: httpUrl(
    'instead of a file, the address of a MapLibre style; everything that it names must be on the same host',
  ),
  MAP_ATTRIBUTION: Type.Optional(
    Type.String({ maxLength: 500, absent: 'that of the file', description: 'who made the map, to be shown on it' }),
  ),
  HOME_ASSISTANT_MQTT_URL: mqttUrl(
    'broker of Home Assistant, with user and password ([home-assistant.md](home-assistant.md))',
  ),
  HOME_ASSISTANT_APPLICATIONS: optional('^[A-Za-z0-9_-]+(,[A-Za-z0-9_-]+)*$', {
    rule: 'must be the appIds of applications, separated by commas',
    description: 'appIds whose vehicles are published there, separated by commas',
  }),
  HOME_ASSISTANT_DISCOVERY_PREFIX: text(
    'homeassistant',
    'first level of the topics that Home Assistant reads',
    '^[^#+]+$',
  ),
  WEBHOOK_ALLOWED_NETWORKS: Type.String({
    default: '',
    description:
      'networks such as `10.0.0.0/8,fd00::/8` that [webhooks](webhooks.md) may be delivered to although they are not public, also without TLS',
  }),
  SHUTDOWN_TIMEOUT_MS: milliseconds(
    15_000,
    'longest graceful shutdown; must exceed `ACK_TIMEOUT_MS` plus `SHUTDOWN_DRAIN_MS`',
  ),
  SHUTDOWN_DRAIN_MS: milliseconds(
    2000,
    "after SIGTERM, /health is 503 for this long before connections are refused; longer than the balancer's check interval",
    0,
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl(
    'address of an OpenTelemetry collector, such as http://127.0.0.1:4318, to which traces are sent over OTLP/HTTP ([operating.md](operating.md#traces))',
  ),
  LOG_LEVEL: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    default: 'info',
    description: 'trace, debug, info, warn, error, fatal, silent',
  }),
});

/** Formats the default of a setting for people. */
function formatDefault(schema: object): string {
  const {
    default: standard,
    unit,
    absent = 'none',
  } = schema as {
    default?: string | number | boolean;
    unit?: string;
    absent?: string;
  };
  if (standard === undefined || standard === '') return absent;
  if (unit !== 'bytes') return [String(standard), unit].filter(Boolean).join(' ');
  const value = Number(standard);
  const power = Math.min(3, Math.floor(Math.log2(value) / 10));
  return `${value / 1024 ** power} ${['bytes', 'KiB', 'MiB', 'GiB'][power]}`;
}

/** Lists all settings as a table in Markdown. */
export function settingsTable(): string {
  const rows = Object.entries(Settings.properties).map(([name, schema]) => {
    const code = formatDefault(schema);
    return `| \`${name}\` | ${code} | ${(schema as { description?: string }).description} |`;
  });
  return ['| name | default | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}
