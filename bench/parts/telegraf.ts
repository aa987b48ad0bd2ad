import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engines } from './engines.ts';
import { type Process, readKernelUsage } from './processes.ts';

/** The table that Telegraf writes to, one row per upload. */
export const telegrafTable = 'telegraf_reading';

const quoted = (text: string): string => JSON.stringify(text);

/**
 * Configures Telegraf for durable delivery as its manual recommends: QoS 1, and a message is acknowledged when its metric
 * is written (mqtt_consumer, "max_undelivered_messages").
 */
function configuration(brokerPort: number, databaseUrl: string): string {
  return `
[agent]
  interval = "1s"
  flush_interval = "1s"
  metric_batch_size = 5000
  metric_buffer_limit = 1000000
  omit_hostname = true
  quiet = true
[[inputs.mqtt_consumer]]
  servers = ["tcp://127.0.0.1:${brokerPort}"]
  topics = ["v1/devices/+/telemetry"]
  qos = 1
  client_id = "telegraf"
  persistent_session = true
  max_undelivered_messages = 100000
  name_override = ${quoted(telegrafTable)}
  topic_tag = ""
  data_format = "json"
  json_time_key = "timestamp"
  json_time_format = "unix"
  json_string_fields = ["status_ignition", "status_movement"]
  [[inputs.mqtt_consumer.topic_parsing]]
    topic = "v1/devices/+/telemetry"
    tags = "_/_/device_id/_"
[[outputs.postgresql]]
  connection = ${quoted(databaseUrl)}
  tags_as_foreign_keys = false
`;
}

const numbers = {
  location: ['latitude', 'longitude', 'angle', 'altitude', 'speed', 'satellites'],
  status: ['mileage', 'autonomy'],
  electric: ['soc', 'current', 'voltage'],
};
const columns = Object.entries(numbers).flatMap(([group, names]) =>
  names.map((name) => `${group}_${name} double precision`),
);

async function createTable({ pool }: Engines): Promise<void> {
  await pool.query(`create table ${telegrafTable} (time timestamptz not null, device_id text not null,
    ${columns.join(', ')}, status_ignition boolean, status_movement boolean)`);
  await pool.query(
    `select create_hypertable('${telegrafTable}', by_range('time', interval '1 day'), create_default_indexes => false)`,
  );
  await pool.query(`create unique index on ${telegrafTable} (device_id, time)`);
  await pool.query(`create index on ${telegrafTable} (time, device_id)`);
}

/** Starts Telegraf between a broker and its own table; it stops with the engines at the latest. */
export async function startTelegraf(engines: Engines, program: string, brokerPort: number): Promise<Process> {
  await createTable(engines);
  const file = join(engines.directory, 'telegraf.conf');
  await writeFile(file, configuration(brokerPort, engines.databaseUrl));
  const child = spawn(program, ['--config', file], { stdio: ['ignore', 'inherit', 'inherit'] });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  engines.onStop('Telegraf', stop);
  return { usage: () => readKernelUsage(child.pid ?? 0), stop };
}
