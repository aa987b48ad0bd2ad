import type { Addresses } from '@odograph/database/addresses';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import type { Redis } from '@odograph/runtime/redis';
import type { Sealer } from '@odograph/runtime/sealing';
import type { Kysely } from 'kysely';
import type { MapFile } from '../places/map-file.ts';
import type { LoginLimit } from './login-limit.ts';

/** The connections and settings that all routes of the service share. */
export interface Fleet {
  readonly db: Kysely<Tables>;
  readonly redis: Redis;
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  readonly failures: FailureReports<'arrival'>;
  readonly changes: ChangeAnnouncer;
  readonly addresses: Addresses;
  readonly map: MapFile;
  /** Seals the tokens of sources. */
  readonly sealer: Sealer;
  /** Seals the secrets of second factors. */
  readonly factorSealer: Sealer;
  /** Limits wrong codes of each second factor. */
  readonly factorLimit: LoginLimit;
  /** Wrong passwords for each account and address. */
  readonly loginLimit: LoginLimit;
  /** Wrong passwords for each address: without an appKey, anyone may have passwords verified, 20 ms of a core each. */
  readonly addressLimit: LoginLimit;
  /** Has the brokers check the MQTT session of a device again; it ends if its credentials are no longer valid. */
  readonly recheckSession: (deviceId: string) => Promise<void>;
}

type FleetPlugin = (http: Http, fleet: Fleet) => void;

/** The routes of a resource, by whom they authenticate; `open` routes authenticate nobody or do it themselves. */
export type FleetRoutes = Partial<Record<'open' | 'session' | 'token' | 'viewer' | 'operator', readonly FleetPlugin[]>>;
