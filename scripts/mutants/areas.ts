/** An area of the code whose mutants the tests must catch. */
export interface Area {
  /** Files and folders; tests, fixtures and declarations are excluded. */
  readonly files: readonly string[];
  /** Like `files`, but only the lines that match `within`. */
  readonly parts?: { readonly files: readonly string[]; readonly within: RegExp };
  readonly mutants: number;
  /** Test files or folders, fastest first: a failure stops the run. */
  readonly tests: readonly string[];
  /** Tests to run before `tests`, for files without tests in their own folder. */
  readonly near?: Readonly<Record<string, readonly string[]>>;
  /** The tests need neither database nor Redis. */
  readonly isPure?: true;
}

export const areas: Readonly<Record<string, Area>> = {
  codecs: { files: ['packages/codec'], mutants: 70, tests: ['packages/codec/'], isPure: true },
  commands: {
    files: ['services/command'],
    mutants: 42,
    near: {
      'services/command/acknowledgements.ts': [
        'services/command/acknowledgements.test.ts',
        'test/flows/keyless.test.ts',
        'test/flows/commands.test.ts',
      ],
      'services/command/commands.ts': [
        'services/command/commands.test.ts',
        'test/flows/commands-idempotency.test.ts',
        'test/flows/commands-order.test.ts',
      ],
      'services/command/routes.ts': ['test/flows/commands.test.ts', 'services/platform/openapi.test.ts'],
      'services/command/rules.ts': [
        'services/command/rules.test.ts',
        'services/command/commands.test.ts',
        'test/flows/flespi-commands.test.ts',
        'test/flows/commands-refused.test.ts',
      ],
      'services/command/send-command.ts': ['test/flows/commands-idempotency.test.ts', 'test/flows/commands'],
      'services/command/service.ts': ['services/command/commands.test.ts', 'services/platform/openapi.test.ts'],
    },
    tests: [
      'services/command/',
      'test/flows/commands',
      'test/flows/teltonika-commands.test.ts',
      'test/flows/flespi-commands.test.ts',
      'test/flows/keyless.test.ts',
      'services/platform/openapi.test.ts',
    ],
  },
  access: {
    files: [
      'packages/database/vehicle-access.ts',
      'packages/database/vehicle-conditions.ts',
      'packages/http/operator-rights.ts',
      'packages/http/authentication.ts',
      'services/access',
    ],
    mutants: 52,
    near: {
      'packages/database/vehicle-access.ts': [
        'services/access/roles.test.ts',
        'services/access/authorizations/routes.test.ts',
        'services/fleet/vehicles/roles.test.ts',
      ],
      'packages/database/vehicle-conditions.ts': [
        'services/query/reads/vehicle-table.test.ts',
        'services/access/bookings/routes.test.ts',
      ],
      'packages/http/authentication.ts': [
        'packages/http/http.test.ts',
        'services/console/console.test.ts',
        'services/fleet/accounts/login.test.ts',
      ],
      'services/access/authorizations/device-commands.ts': [
        'services/access/authorizations/routes.test.ts',
        'services/access/bookings/routes.test.ts',
      ],
      'services/access/bookings/routes.ts': [
        'services/access/bookings/routes.test.ts',
        'services/platform/openapi.test.ts',
      ],
      'services/access/device-keys/queries.ts': [
        'services/access/device-keys/',
        'services/access/authorizations/routes.test.ts',
        'test/flows/encryption-keys.test.ts',
      ],
      'services/access/drivers/routes.ts': ['services/access/drivers/', 'test/flows/keyless.test.ts'],
      'services/access/service.ts': ['services/access/roles.test.ts', 'services/platform/openapi.test.ts'],
      'services/access/shared/list-stream.ts': ['services/access/drivers/', 'services/access/bookings/routes.test.ts'],
      'services/access/shared/resolve-driver.ts': [
        'services/access/bookings/changes.test.ts',
        'services/access/bookings/routes.test.ts',
        'services/access/roles.test.ts',
      ],
    },
    tests: [
      'packages/http/',
      'services/access/',
      'services/fleet/vehicles/',
      'services/query/reads/vehicle-table.test.ts',
      'services/query/reads/fleet-status.test.ts',
      'services/fleet/accounts/',
      'services/fleet/admin.test.ts',
      'services/fleet/devices/admin.test.ts',
      'test/flows/operators.test.ts',
      'test/flows/keyless.test.ts',
      'test/flows/tokens.test.ts',
      'test/flows/encryption-keys.test.ts',
      'services/console/console.test.ts',
      'services/platform/openapi.test.ts',
    ],
  },
  paging: {
    files: [
      'packages/http/paging.ts',
      'packages/event-list/cursor.ts',
      'services/access/shared/list-stream.ts',
      'services/query/shared/reading-page.ts',
      'services/query/shared/reading-keys.ts',
      'services/query/shared/counted-hours.ts',
    ],
    mutants: 32,
    near: {
      'packages/event-list/cursor.ts': ['packages/event-list/', 'services/query/live/changes.test.ts'],
      'packages/http/paging.ts': ['services/access/drivers/'],
      'services/access/shared/list-stream.ts': ['services/access/drivers/', 'services/access/bookings/routes.test.ts'],
      'services/query/shared/counted-hours.ts': ['test/flows/deep-offsets.test.ts'],
      'services/query/shared/reading-keys.ts': [
        'services/query/shared/reading-page.test.ts',
        'services/query/reads/history.test.ts',
        'test/flows/deep-offsets.test.ts',
      ],
      'services/query/shared/reading-page.ts': [
        'services/query/shared/reading-page.test.ts',
        'services/query/shared/answers.test.ts',
        'services/query/reads/history.test.ts',
        'test/flows/deep-offsets.test.ts',
      ],
    },
    tests: [
      'services/query/shared/reading',
      'packages/event-list/',
      'packages/http/http.test.ts',
      'services/query/reads/history.test.ts',
      'services/query/reads/customcan.test.ts',
      'services/query/live/changes.test.ts',
      'services/access/authorizations/routes.test.ts',
      'test/flows/deep-offsets.test.ts',
      'test/flows/events.test.ts',
    ],
  },
  privacy: {
    files: ['services/fleet/vehicles/privacy.ts', 'services/ingest/upload/link-readings.ts'],
    parts: {
      files: [
        'packages/database/reading-json.ts',
        'packages/event-list/read-events.ts',
        'services/query',
        'services/ingest/alarms',
        'services/ingest/maintenance',
        'services/ingest/pipeline',
      ],
      within: /privacy|private/i,
    },
    mutants: 32,
    near: {
      'packages/database/reading-json.ts': ['services/query/reads/latest.test.ts'],
      'services/fleet/vehicles/privacy.ts': [
        'services/fleet/vehicles/privacy.test.ts',
        'services/fleet/alarms/routes.test.ts',
      ],
      'services/ingest/alarms/watch.ts': ['services/ingest/alarms/watch.test.ts'],
      'services/query/live/live-fleet.ts': [
        'services/query/reads/vehicle-states.test.ts',
        'services/query/live/live-state.test.ts',
      ],
      'services/query/reads/fleet-status.ts': [
        'services/query/reads/fleet-status.test.ts',
        'services/query/reads/fleet-area.test.ts',
      ],
      'services/query/reads/gaps.ts': ['services/query/reads/gaps.test.ts'],
      'services/query/reads/fleet-facts.ts': ['services/query/reads/fleet-status.test.ts'],
      'services/query/reads/vehicle-table-queries.ts': ['services/query/reads/vehicle-table.test.ts'],
      'services/query/gbfs/queries.ts': ['services/query/gbfs/', 'test/flows/gbfs.test.ts'],
      'services/query/exports/export-jobs.ts': ['services/query/exports/jobs.test.ts'],
      'services/query/live/queries.ts': [
        'services/query/live/live-state.test.ts',
        'services/query/live/routes.test.ts',
      ],
      'services/ingest/upload/link-readings.ts': [
        'services/ingest/upload/protect-readings.test.ts',
        'services/ingest/upload/store-batch.test.ts',
      ],
    },
    tests: [
      'services/fleet/vehicles/privacy.test.ts',
      'services/fleet/alarms/routes.test.ts',
      'services/ingest/upload/protect-readings.test.ts',
      'services/ingest/upload/store-batch.test.ts',
      'services/query/reads/',
      'services/query/live/',
      'services/query/exports/',
      'services/query/home-assistant/',
      'services/query/gbfs/',
      'services/ingest/alarms/',
      'services/ingest/maintenance/',
      'test/flows/privacy.test.ts',
    ],
  },
};
