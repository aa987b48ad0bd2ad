import type { ColumnType, Generated } from 'kysely';

type Written<T> = ColumnType<T, T | undefined, T>;

export interface WebhookTable {
  id: Generated<string>;
  application_id: number;
  url: string;
  event_types: string[];
  all_vehicles: boolean;
  sealed_secret: Buffer;
  sealed_previous_secret: Written<Buffer | null>;
  previous_secret_until: Written<Date | null>;
  created_at: Generated<Date>;
  disabled_at: Written<Date | null>;
  disabled_reason: Written<'GONE' | 'REQUESTED' | null>;
  version: Generated<number>;
  position: string;
  position_saved_at: Generated<Date>;
  failing_since: Written<Date | null>;
  pauses: Generated<number>;
  paused_until: Written<Date | null>;
  last_error: Written<string | null>;
  last_success_at: Written<Date | null>;
  lease: Written<string | null>;
  leased_until: Written<Date | null>;
}
