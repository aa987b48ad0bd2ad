/** Settings that differ from the server's own, by name. */
export type SettingValues = ReadonlyMap<string, string>;

/** The part of the engine that reads and changes settings. */
interface SettingsEngine {
  query: (sql: string) => string[][];
}

/**
 * Settings of a PostgreSQL server that the engine has differently. The engine sets its values on its command line, which neither
 * postgresql.conf nor ALTER DATABASE overrides.
 */
export const serverSettings: SettingValues = new Map([
  ['TimeZone', 'UTC'],
  ['allow_system_table_mods', 'off'],
  ['enable_seqscan', 'on'],
  ['log_min_messages', 'warning'],
  ['search_path', '"$user", public'],
]);

const settingsQuery = `
select name, setting from pg_settings where source = 'session' and name not like 'transaction\\_%' and name <> 'seed'
union all select 'role', current_setting('role') where current_setting('role') <> 'none'
order by 1`;

const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const quoteText = (value: string): string => ` E'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Reads the settings in a startup message, `options=-c name=value` included (libpq, "Database Connection Control Functions"). */
export function startupSettings(parameters: ReadonlyMap<string, string>): SettingValues {
  const settings = new Map(serverSettings);
  const options = parameters.get('options') ?? '';
  for (const match of options.matchAll(/(?:-c\s*|--)([\w.-]+)=((?:\\.|\S)*)/g)) {
    setSetting(settings, (match[1] ?? '').replaceAll('-', '_'), (match[2] ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  for (const [name, value] of parameters) {
    if (!/^(?:user|database|options|replication|_pq_\..*)$/.test(name)) setSetting(settings, name, value);
  }
  if (/^'?utf-?8'?$/i.test(settings.get('client_encoding') ?? '')) settings.delete('client_encoding');
  const user = parameters.get('user');
  if (user !== undefined && user !== 'postgres') settings.set('role', user);
  return settings;
}

/** Sets a setting; names are case-insensitive. */
function setSetting(settings: Map<string, string>, name: string, value: string): void {
  const known = [...settings.keys()].find((other) => other.toLowerCase() === name.toLowerCase());
  settings.set(known ?? name, value);
}

/** Reads the session's settings, after giving those that were reset the server's values again. */
export function readSettings(engine: SettingsEngine): SettingValues {
  const found = new Map(engine.query(settingsQuery).map(([name = '', value = '']) => [name, value]));
  const missing = new Map([...serverSettings].filter(([name]) => !found.has(name)));
  exchangeSettings(engine, new Map(), missing);
  return new Map([...found, ...missing]);
}

/** Changes the session from one connection's settings to another's. @throws the database's message, after a reset of all settings */
export function exchangeSettings(engine: SettingsEngine, current: SettingValues, wanted: SettingValues): void {
  const statements: string[] = [];
  if (current.has('role') && current.get('role') !== wanted.get('role')) statements.push('reset role');
  for (const name of current.keys()) {
    if (name !== 'role' && !wanted.has(name)) statements.push(`reset ${quoteName(name)}`);
  }
  // The role comes last, because other settings may need the privileges that it drops.
  const changed = [...wanted].filter(([name, value]) => current.get(name) !== value);
  changed.sort(([first], [second]) => Number(first === 'role') - Number(second === 'role'));
  for (const [name, value] of changed)
    statements.push(`select set_config(${quoteText(name)}, ${quoteText(value)}, false)`);
  if (statements.length === 0) return;
  try {
    engine.query(statements.join('; '));
  } catch (error) {
    engine.query('reset role; reset all');
    readSettings(engine);
    throw error;
  }
}

/** Whether this SQL may have changed settings beyond its transaction, judged by its text and command tag. */
export function mayChangeSettings(sql: string, commandTag: string): boolean {
  if (/^(RESET|DISCARD ALL)/.test(commandTag)) return true;
  if (commandTag === 'SET') return !/^\s*set\s+(local|transaction)\s[^;]*;?\s*$/i.test(sql);
  return /set_config/i.test(sql);
}
