/**
 * Every failure the interface can answer, with its HTTP status and a sentence for people.
 *
 * This is the only table of codes: the error handler, OpenAPI and the tests read it.
 */
export const failures = {
  INVALID_PARAMETER: [400, 'a parameter is missing or malformed'],
  INVALID_OLD_PASSWORD: [400, 'the old password is wrong'],
  INVALID_PASSWORD_LENGTH: [400, 'the new password needs at least 8 characters'],
  INVALID_LEVEL: [400, 'level is LOCK_UNLOCK or DRIVE'],
  INVALID_INTERVAL: [400, 'until must lie after from'],
  INVALID_DATE: [400, 'the date is invalid or out of range'],
  INVALID_CLAIM_CODE: [400, 'a device without an owner needs its claim code'],
  INVALID_DEVICE: [400, 'the device does not support this'],
  INVALID_BOOKING_TYPE: [400, 'type is BOOKING or FREE_FLOATING'],
  DRIVER_WITHOUT_ACCOUNT: [400, 'the driver has no account'],
  MISSING_NAME: [400, 'name is missing'],
  MISSING_ADDRESS: [400, 'address is missing'],
  MISSING_ZIPCODE: [400, 'zipcode is missing'],
  MISSING_CITY: [400, 'city is missing'],
  MISSING_COUNTRY: [400, 'country is missing'],
  MISSING_PARKING: [400, 'parkingId is missing'],
  MISSING_TOKEN: [401, 'the header x-service-token is missing'],
  INVALID_TOKEN: [401, 'the token is unknown or revoked'],
  TOKEN_EXPIRED: [401, 'the token has expired'],
  INVALID_CREDENTIALS: [401, 'the credentials are wrong'],
  SECOND_FACTOR_REQUIRED: [401, 'an authenticator code is required'],
  UNAUTHORIZED: [403, 'not allowed'],
  PASSWORD_CHANGE_REQUIRED: [403, 'the password must be changed first'],
  SECOND_FACTOR_MISSING: [403, 'a second factor must be added first'],
  UNKNOWN_VEHICLE: [404, 'no such vehicle'],
  UNKNOWN_DEVICE: [404, 'no such device'],
  UNKNOWN_AUTHORIZATION: [404, 'no such authorization'],
  UNKNOWN_USER: [404, 'no such user'],
  UNKNOWN_APPLICATION: [404, 'no such application'],
  NOT_FOUND: [404, 'no such resource'],
  NO_PARKING: [404, 'the vehicle has no parking spot'],
  NO_DATA: [404, 'there is no data'],
  NO_DEVICE: [404, 'the vehicle has no device'],
  POSITION_UNKNOWN: [404, 'the position is unknown'],
  METHOD_NOT_ALLOWED: [405, 'the path has no such method'],
  ALREADY_EXISTS: [409, 'it exists already'],
  ALREADY_ACKNOWLEDGED: [409, 'it was acknowledged already'],
  ALREADY_DECIDED: [409, 'it was decided already'],
  IN_USE: [409, 'it is in use'],
  LAST_ADMINISTRATOR: [409, 'another operator must become an administrator first'],
  TOO_MANY: [409, 'the application has too many of them'],
  DEVICE_ALREADY_LINKED: [409, 'the device is linked to a vehicle'],
  VEHICLE_ALREADY_LINKED: [409, 'the vehicle is linked to a device'],
  VEHICLE_NOT_AVAILABLE: [409, 'the vehicle is not available'],
  VEHICLE_ARCHIVED: [409, 'the vehicle is archived'],
  AUTHORIZATION_NOT_ACTIVE: [409, 'the authorization is not active yet'],
  AUTHORIZATION_EXPIRED: [409, 'the authorization has expired'],
  NOT_SUSPENDED: [409, 'the authorization is not suspended'],
  BOOKING_EXPIRED: [409, 'the booking is over'],
  NOT_ALL_AUTHORIZATIONS_REVOKED: [409, 'some authorizations remain'],
  IDEMPOTENCY_KEY_REUSED: [409, 'the Idempotency-Key belongs to another request'],
  IDEMPOTENCY_KEY_IN_USE: [409, 'the first request with the Idempotency-Key has not been answered'],
  CHANGED_MEANWHILE: [412, 'someone else has changed it meanwhile'],
  TOO_LARGE: [413, 'the request is too large'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'the body must be JSON'],
  TOO_MANY_REQUESTS: [429, 'too many requests'],
  INTERNAL_ERROR: [500, 'something failed on our side'],
  OVERLOADED: [503, 'the service cannot take the request now'],
  COMMUNICATION_FAILED: [504, 'the vehicle could not be reached'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type FailureCode = keyof typeof failures;

/** Fields that a failure adds to `error` and `message` in its answer; see "Failures" in docs/interface.md. */
export interface FailureDetails {
  /** The parameter that is at fault. */
  readonly field?: string;
  /** Machine-readable cause, for codes with several causes. */
  readonly reason?: string;
  /** With the reason EXPIRED: the oldest value that is kept. */
  readonly oldest?: string;
  /** False for a refused deletion. */
  readonly deleted?: false;
  /** Seconds after which the same request may succeed. */
  readonly retryAfterSeconds?: number;
}

/** An expected failure: its code, message and details are public. Anything else that is thrown becomes INTERNAL_ERROR. */
export class Failure extends Error {
  readonly code: FailureCode;
  readonly details: FailureDetails;

  constructor(code: FailureCode, message?: string, details: FailureDetails = {}, options?: ErrorOptions) {
    super(message ?? failures[code][1], options);
    this.name = 'Failure';
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return failures[this.code][0];
  }
}

/** Creates the failure of a malformed or missing parameter. */
export function invalidParameter(field: string, message: string): Failure {
  return new Failure('INVALID_PARAMETER', `${field} ${message}`, { field });
}

/** Creates the failure of an application that is being moved to another cell; the request may succeed there. */
export function applicationMoving(): Failure {
  const details = { reason: 'APPLICATION_MOVING', retryAfterSeconds: 30 };
  return new Failure('OVERLOADED', 'the application is being moved to another cell', details);
}

/** Creates the failure of a caller over a limit. @param waitMs time until the next request may succeed */
export function tooManyRequests(waitMs: number): Failure {
  return new Failure('TOO_MANY_REQUESTS', undefined, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
}
