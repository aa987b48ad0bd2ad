import type { OperatorRole } from '@odograph/contracts/caller';
import type { GbfsSettings } from '@odograph/contracts/gbfs';
import type { SourceFormatName } from '@odograph/contracts/sources';
import type { ColumnType, Generated } from 'kysely';

type Written<T> = ColumnType<T, T | undefined, T>;

export interface SourceTable {
  id: Generated<string>;
  application_id: number;
  format: SourceFormatName;
  secret_sha256: Buffer;
  previous_secret_sha256: Written<Buffer | null>;
  previous_secret_until: Written<Date | null>;
  create_devices: Generated<boolean>;
  created_at: Generated<Date>;
  last_seen_at: Written<Date | null>;
  messages: Generated<number>;
  unknown_messages: Generated<number>;
  refused_requests: Generated<number>;
  sealed_command_token: Written<Buffer | null>;
  takes_commands: Generated<boolean>;
  deleted_at: Written<Date | null>;
}

export interface GbfsSystemTable {
  application_id: number;
  system_id: string;
  settings: ColumnType<GbfsSettings, string, string>;
  id_key: Buffer;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface OperatorTable {
  id: Generated<string>;
  name: string;
  password_hash: string;
  role: OperatorRole;
  must_change_password: Generated<boolean>;
  created_at: Generated<Date>;
  deleted_at: Written<Date | null>;
}

export interface OperatorApplicationTable {
  operator_id: string;
  application_id: number;
}

export interface SignInTable {
  token_sha256: Buffer;
  operator_id: Written<string | null>;
  session_id: Written<string | null>;
  created_at: Generated<Date>;
  used_at: Generated<Date>;
  expires_at: Date;
}

export interface PipelineSampleTable {
  at: Date;
  source: string;
  seconds: number;
  accepted_uploads: Written<number | null>;
  refused_packets: Written<number | null>;
  puback_p50_ms: Written<number | null>;
  puback_p99_ms: Written<number | null>;
  connected_devices: Written<number | null>;
  held_bytes: Written<number | null>;
  stored_readings: Written<number | null>;
  quarantined_uploads: Written<number | null>;
  lag_p50_ms: Written<number | null>;
  lag_p99_ms: Written<number | null>;
  waiting_jobs: Written<number | null>;
  oldest_job_seconds: Written<number | null>;
  database_bytes: Written<number | null>;
  redis_bytes: Written<number | null>;
}
