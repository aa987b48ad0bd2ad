import type { ApiKeyScope, OperatorRole, SignInMethod } from '@odograph/contracts/caller';
import type { CommandState } from '@odograph/contracts/commands';
import type { AvlFamily, DeviceCommands } from '@odograph/contracts/device-models';
import type { GbfsSettings } from '@odograph/contracts/gbfs';
import type { UploadFormat } from '@odograph/contracts/queues';
import type { SourceFormatName } from '@odograph/contracts/sources';
import type { ColumnType, Generated } from 'kysely';

interface ApplicationTable {
  id: Generated<number>;
  app_id: string;
  app_key_sha256: Buffer;
  previous_app_key_sha256: Buffer | null;
  previous_app_key_until: Date | null;
  name: string;
  view: 'dynamic' | 'fleet' | null;
  device_uploads_per_second: number | null;
  device_bytes_per_second: number | null;
  created_at: Generated<Date>;
  deleted_at: Date | null;
  moving_since: Date | null;
}

interface UserAccountTable {
  id: Generated<string>;
  application_id: number;
  username: string;
  password_hash: string;
  must_change_password: Generated<boolean>;
  created_at: Generated<Date>;
  deleted_at: Date | null;
}

interface SessionTable {
  id: Generated<string>;
  application_id: number;
  user_id: string | null;
  created_at: Generated<Date>;
  revoked_at: Date | null;
}

interface AccessTokenTable {
  token_sha256: Buffer;
  session_id: string;
  expires_at: Date;
}

interface RefreshTokenTable {
  token_sha256: Buffer;
  session_id: string;
  expires_at: Date;
  spent_at: Date | null;
  successor_sha256: Buffer | null;
}

interface ApiKeyTable {
  id: Generated<string>;
  application_id: number;
  name: string;
  key_sha256: Buffer;
  scopes: ApiKeyScope[];
  networks: string[];
  created_at: Generated<Date>;
  expires_at: Date | null;
}

interface VehicleTable {
  id: Generated<number>;
  application_id: number;
  plate: string;
  vin: Generated<string>;
  brand: Generated<string>;
  model: Generated<string>;
  energy: Generated<string>;
  seats: Generated<number>;
  gearbox: Generated<string>;
  kind: Generated<string>;
  accessories: Generated<string[]>;
  tank_litres: Generated<number>;
  towing: Generated<boolean>;
  accident: Generated<boolean>;
  maintenance: Generated<boolean>;
  breakdown: Generated<boolean>;
  stolen: Generated<boolean>;
  unavailable: Generated<boolean>;
  states_lowered: Generated<Record<string, string>>;
  created_at: Generated<Date>;
  archived_at: Date | null;
  deleted_at: Date | null;
}

interface VehicleGrantTable {
  user_id: string;
  vehicle_id: number;
  role: Generated<'viewer' | 'driver' | 'manager'>;
  created_at: Generated<Date>;
}

interface GroupGrantTable {
  user_id: string;
  application_id: number;
  group_id: string;
  role: Generated<'viewer' | 'driver' | 'manager'>;
  created_at: Generated<Date>;
}

interface DeviceModelTable {
  id: string;
  protocol: Generated<'mqtt' | 'teltonika' | 'source'>;
  family: AvlFamily | null;
  actions: string[];
  commands: Generated<DeviceCommands>;
  proprietary_can: boolean;
  bluetooth: boolean;
  encrypted_commands: Generated<string[]>;
  digital_outputs: Generated<Record<string, number>>;
  scenarii: Generated<Record<string, string>>;
  shipped: Generated<boolean>;
}

interface DeviceTable {
  id: string;
  model_id: string;
  application_id: number | null;
  secret_sha256: Buffer;
  secret_issued_at: Generated<Date>;
  previous_secret_sha256: Buffer | null;
  previous_secret_until: Date | null;
  certificates_issued_from: Date | null;
  claim_code_sha256: Buffer | null;
  bluetooth_name: Generated<string>;
  bluetooth_pin: Generated<string>;
  created_at: Generated<Date>;
  deleted_at: Date | null;
}

interface DeviceLinkTable {
  device_id: string;
  vehicle_id: number;
  period: string;
}

interface PrivacyPeriodTable {
  vehicle_id: number;
  period: string;
}

interface VehicleRequestTable {
  id: Generated<string>;
  application_id: number;
  user_id: string | null;
  plate: string;
  request: string;
  state: Generated<'pending' | 'approved' | 'declined'>;
  vehicle_id: number | null;
  reason: string | null;
  created_at: Generated<Date>;
  decided_at: Date | null;
}

interface VehiclePurgeTable {
  vehicle_id: number;
  application_id: number;
  requested_at: Generated<Date>;
  verified_at: Date | null;
}

interface QuarantineTable {
  id: Generated<number>;
  device_id: string;
  received_at: Date;
  format: Generated<UploadFormat>;
  application_id: number | null;
  sealed_payload: Buffer;
  payload_bytes: number;
  payload_fingerprint: Buffer;
  faults: unknown;
  times_seen: Generated<number>;
  is_partial: Generated<boolean>;
  resolved_at: Date | null;
  dismissed_reason: string | null;
}

interface CommandTable {
  id: Generated<string>;
  position: Generated<number>;
  application_id: number;
  vehicle_id: number;
  user_id: string | null;
  device_id: string;
  action: string;
  state: Generated<CommandState>;
  created_at: Generated<Date>;
  sent_at: Date | null;
  expires_at: Date;
  ended_at: Date | null;
  cause: string | null;
  status: string | null;
  reason: string | null;
  idempotency_key: string | null;
}

interface BookingTable {
  id: Generated<string>;
  application_id: number;
  vehicle_id: number;
  user_id: string;
  account_id: string | null;
  type: 'BOOKING' | 'FREE_FLOATING';
  starts_at: Date;
  ends_at: Date | null;
  authorization_id: string;
  created_at: Generated<Date>;
  stopped_at: Date | null;
  deleted_at: Date | null;
}

interface ParkingTable {
  id: Generated<string>;
  application_id: number;
  short_id: string;
  name: string;
  address: string;
  address2: Generated<string>;
  zipcode: string;
  city: string;
  country: string;
  latitude: number | null;
  longitude: number | null;
  created_at: Generated<Date>;
}

interface VehicleParkingTable {
  vehicle_id: number;
  parking_id: string;
}

interface BluetoothAuthorizationTable {
  id: Generated<string>;
  vehicle_id: number;
  driver_id: string;
  level: 'LOCK_UNLOCK' | 'DRIVE';
  valid_from: Date;
  valid_until: Date;
  suspended_until: Date | null;
  revoked_at: Date | null;
  replaced_by: string | null;
  issued_by: string | null;
  created_at: Generated<Date>;
}

interface DeviceKeyTable {
  device_id: string;
  sealed_key: Buffer;
  key_version: Generated<number>;
  epoch: Generated<number>;
  list_version: Generated<number>;
  published_version: Generated<number>;
  published_at: Date | null;
  confirmed_version: Generated<number>;
  confirmed_at: Date | null;
  refused_reason: string | null;
  claim: string | null;
  claimed_until: Date | null;
}

/**
 * The tables of migrations/ for kysely, except those used only by plain SQL, such as `reading`. Typed by hand because
 * kysely-codegen reads neither check constraints (a command's `state` becomes `string`) nor the content of JSON columns.
 */
export interface Tables {
  application: ApplicationTable;
  user_account: UserAccountTable;
  session: SessionTable;
  access_token: AccessTokenTable;
  api_key: ApiKeyTable;
  refresh_token: RefreshTokenTable;
  vehicle: VehicleTable;
  vehicle_grant: VehicleGrantTable;
  group_grant: GroupGrantTable;
  device_model: DeviceModelTable;
  device: DeviceTable;
  source: SourceTable;
  gbfs_system: GbfsSystemTable;
  device_link: DeviceLinkTable;
  privacy_period: PrivacyPeriodTable;
  vehicle_request: VehicleRequestTable;
  vehicle_purge: VehiclePurgeTable;
  quarantine: QuarantineTable;
  command: CommandTable;
  bluetooth_authorization: BluetoothAuthorizationTable;
  device_key: DeviceKeyTable;
  booking: BookingTable;
  parking: ParkingTable;
  vehicle_parking: VehicleParkingTable;
  operator: OperatorTable;
  operator_application: OperatorApplicationTable;
  sign_in: SignInTable;
  second_factor: SecondFactorTable;
  recovery_code: RecoveryCodeTable;
  pipeline_sample: PipelineSampleTable;
  webhook: WebhookTable;
}

interface SourceTable {
  id: Generated<string>;
  application_id: number;
  format: SourceFormatName;
  secret_sha256: Buffer;
  previous_secret_sha256: Buffer | null;
  previous_secret_until: Date | null;
  create_devices: Generated<boolean>;
  created_at: Generated<Date>;
  last_seen_at: Date | null;
  messages: Generated<number>;
  unknown_messages: Generated<number>;
  refused_requests: Generated<number>;
  sealed_command_token: Buffer | null;
  takes_commands: Generated<boolean>;
  deleted_at: Date | null;
}

interface GbfsSystemTable {
  application_id: number;
  system_id: string;
  settings: ColumnType<GbfsSettings, string, string>;
  id_key: Buffer;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface OperatorTable {
  id: Generated<string>;
  name: string;
  password_hash: string;
  role: OperatorRole;
  oidc_subject: string | null;
  must_change_password: Generated<boolean>;
  created_at: Generated<Date>;
  deleted_at: Date | null;
}

interface OperatorApplicationTable {
  operator_id: string;
  application_id: number;
}

interface SignInTable {
  token_sha256: Buffer;
  operator_id: string | null;
  session_id: string | null;
  created_at: Generated<Date>;
  used_at: Generated<Date>;
  expires_at: Date;
  id: Generated<string>;
  method: Generated<SignInMethod>;
  address: Generated<string>;
  browser: Generated<string>;
  oidc_sid: string | null;
}

interface SecondFactorTable {
  id: Generated<string>;
  operator_id: string | null;
  user_id: string | null;
  sealed_secret: Buffer;
  confirmed_at: Date | null;
  last_step: Generated<number>;
}

interface RecoveryCodeTable {
  factor_id: string;
  code_sha256: Buffer;
}

interface PipelineSampleTable {
  at: Date;
  source: string;
  seconds: number;
  accepted_uploads: number | null;
  refused_packets: number | null;
  puback_p50_ms: number | null;
  puback_p99_ms: number | null;
  connected_devices: number | null;
  held_bytes: number | null;
  stored_readings: number | null;
  quarantined_uploads: number | null;
  lag_p50_ms: number | null;
  lag_p99_ms: number | null;
  waiting_jobs: number | null;
  oldest_job_seconds: number | null;
  database_bytes: number | null;
  redis_bytes: number | null;
}

interface WebhookTable {
  id: Generated<string>;
  application_id: number;
  /** Null for a notification. */
  url: string | null;
  event_types: string[];
  all_vehicles: boolean;
  group_id: string | null;
  sealed_secret: Buffer;
  sealed_previous_secret: Buffer | null;
  previous_secret_until: Date | null;
  created_at: Generated<Date>;
  disabled_at: Date | null;
  disabled_reason: 'GONE' | 'REQUESTED' | null;
  version: Generated<number>;
  position: string;
  position_saved_at: Generated<Date>;
  failing_since: Date | null;
  pauses: Generated<number>;
  paused_until: Date | null;
  last_error: string | null;
  last_success_at: Date | null;
  lease: string | null;
  leased_until: Date | null;
}
