import type { AlarmKind, AlarmParameters } from '@odograph/contracts/alarms';
import type { GeofenceShape } from '@odograph/contracts/geofences';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { groupBy } from '../group-by.ts';
import { type Condition, conditionOf } from './verdicts.ts';

/** A rule that readings decide. */
export interface Rule {
  readonly id: string;
  readonly kind: AlarmKind;
  /** Earlier readings do not count. */
  readonly activeFromMicroseconds: number;
  readonly condition: Condition;
}

/** The rules of one application. */
interface ApplicationRules {
  readonly ofAll: readonly Rule[];
  readonly ofVehicle: ReadonlyMap<number, readonly Rule[]>;
}

interface RuleRow {
  application_id: number;
  id: string;
  kind: AlarmKind;
  parameters: AlarmParameters;
  geofence: GeofenceShape | null;
  active_from_us: number;
  /** Null for all vehicles. */
  vehicles: number[] | null;
}

async function findRules(db: Database, applicationIds: readonly number[]): Promise<RuleRow[]> {
  const { rows } = await sql<RuleRow>`
    select rule.application_id, rule.id, rule.kind, rule.parameters,
      geofence.geometry || jsonb_build_object('radiusMetres', geofence.radius_metres) as geofence,
      (extract(epoch from rule.active_from) * 1000000)::bigint as active_from_us,
      case when not rule.all_vehicles then array(
        select vehicle_id from alarm_rule_vehicle where rule_id = rule.id) end as vehicles
    from alarm_rule as rule left join geofence on geofence.id = rule.geofence_id
    where rule.application_id = any(${applicationIds}::integer[]) and rule.deleted_at is null
      and rule.kind not in ('silent', 'unanswered-command')
    order by rule.id`.execute(db);
  return rows;
}

function toRule({ id, kind, parameters, geofence, active_from_us }: RuleRow): Rule[] {
  const condition = conditionOf(kind, parameters, geofence ?? undefined);
  return condition === undefined ? [] : [{ id, kind, activeFromMicroseconds: active_from_us, condition }];
}

function toApplicationRules(rows: readonly RuleRow[]): ApplicationRules {
  const ofVehicle = rows.flatMap((row) =>
    toRule(row).flatMap((rule) => (row.vehicles ?? []).map((vehicleId) => ({ vehicleId, rule }))),
  );
  const byVehicle = groupBy(ofVehicle, ({ vehicleId }) => vehicleId);
  return {
    ofAll: rows.filter(({ vehicles }) => vehicles === null).flatMap(toRule),
    ofVehicle: new Map([...byVehicle].map(([vehicleId, found]) => [vehicleId, found.map(({ rule }) => rule)])),
  };
}

const noRules: readonly Rule[] = [];

/** Caches the rules of applications for one version of the alarm rules (packages/database/ingest-barrier.ts). */
export class RuleCache {
  #version: number | undefined;
  /** Undefined for an application without rules. */
  #rules = new Map<number, ApplicationRules | undefined>();

  /**
   * Loads the rules of applications that are not in the cache.
   * @param version from shareIngestBarrier in the transaction `db`
   * @returns whether one of the applications has rules
   */
  async load(db: Database, version: number, applicationIds: ReadonlySet<number>): Promise<boolean> {
    if (version !== this.#version) {
      this.#version = version;
      this.#rules = new Map();
    }
    const unknown = [...applicationIds].filter((id) => !this.#rules.has(id));
    if (unknown.length > 0) {
      const found = groupBy(await findRules(db, unknown), ({ application_id }) => application_id);
      for (const id of unknown) {
        const rows = found.get(id);
        this.#rules.set(id, rows && toApplicationRules(rows));
      }
    }
    return [...applicationIds].some((id) => this.#rules.get(id) !== undefined);
  }

  /** Returns the rules of a vehicle of a loaded application. */
  rulesOf(applicationId: number, vehicleId: number): readonly Rule[] {
    const rules = this.#rules.get(applicationId);
    if (rules === undefined) return noRules;
    const ofVehicle = rules.ofVehicle.get(vehicleId);
    return ofVehicle === undefined ? rules.ofAll : [...rules.ofAll, ...ofVehicle];
  }
}
