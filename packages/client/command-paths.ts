// Made from the OpenAPI document of the platform: npm run interface:types. Do not edit.

export const commandPaths: readonly string[] = [
  '/v1/vehicle/honk',
  '/v1/vehicle/immobilize',
  '/v1/vehicle/lights/on',
  '/v1/vehicle/lock',
  '/v1/vehicle/start',
  '/v1/vehicle/trunk/unlock',
  '/v1/vehicle/unlock',
  '/v1/vehicle/windows/close',
  '/v1/vehicle/windows/open',
];
