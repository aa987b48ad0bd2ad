/** The scopes of API keys; none includes another. */
export const apiKeyScopes = ['read', 'write', 'commands', 'admin'] as const;
export type ApiKeyScope = (typeof apiKeyScopes)[number];

/** The API key that a request authenticates with. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly ApiKeyScope[];
}

/** The application, or one of its users, that makes a request. Every query is scoped by it. */
export interface Caller {
  readonly applicationId: number;
  /** Undefined in application mode, where all vehicles of the application are visible. */
  readonly userId?: string;
  /** Name of the operator who acts for the application, in application mode. */
  readonly operatorName?: string;
  /** Set if the application authenticates with an API key. */
  readonly apiKey?: ApiKey;
  /** The application moves to another cell: it may only be read. */
  readonly isMoving?: true;
}

/** The vehicles that a person sees, in one or several applications. */
export interface Viewer {
  /** Undefined for all applications. */
  readonly applicationIds?: readonly number[];
  /** Limits the vehicles to those granted to this user. */
  readonly userId?: string;
  /** Restricts to vehicles that, for each of these lists, are in one of its groups or in a descendant of one. */
  readonly groups?: readonly (readonly string[])[];
}

/** Restricts a viewer to the vehicles of a group, if one is given. */
export const withinGroup = (viewer: Viewer, groupId: string | undefined): Viewer =>
  groupId === undefined ? viewer : { ...viewer, groups: [...(viewer.groups ?? []), [groupId]] };

/** The roles of operators. Every role includes the rights of those before it. */
export const operatorRoles = ['viewer', 'operator', 'administrator'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

/** A signed-in operator, or the holder of the admin token or an API key, without id and name. */
export interface Operator {
  readonly id?: string;
  readonly name?: string;
  readonly role: OperatorRole;
  /** The applications that the operator is limited to; undefined for all. */
  readonly applicationIds?: readonly number[];
  readonly apiKey?: ApiKey;
}

/** An operator's request, as the rules and the audit see it. */
export interface OperatorRequest {
  readonly operator: Operator;
  /** Network address. */
  readonly ip: string;
}

/** Whether an operator sees what belongs to an application; null for what belongs to none. */
export function seesApplication(
  { applicationIds }: Pick<Operator, 'applicationIds'>,
  applicationId: number | null,
): boolean {
  return applicationIds === undefined || (applicationId !== null && applicationIds.includes(applicationId));
}

/** The person whose browser is signed in: an operator, or a user of an application. */
export type SignedIn =
  | {
      readonly operator: Operator;
      /** Someone else has chosen the password: the session only changes it. */
      readonly mustChangePassword: boolean;
      /** The role requires a second factor and the session has none: it may only add one. */
      readonly mustAddSecondFactor: boolean;
    }
  | { readonly caller: Caller & { readonly userId: string } };

/** How a browser session was authenticated: by password, by password and code, by passkey, or by an identity provider. */
export const signInMethods = ['password', 'code', 'recovery code', 'passkey', 'identity provider'] as const;
export type SignInMethod = (typeof signInMethods)[number];

/** Tests whether an operator must add a second factor. @param leastRole the setting SECOND_FACTOR_ROLE */
export function mustAddSecondFactor(role: OperatorRole, method: SignInMethod, leastRole: string): boolean {
  const required = operatorRoles.indexOf(leastRole as OperatorRole);
  return method === 'password' && required !== -1 && operatorRoles.indexOf(role) >= required;
}

/** A browser session ends after this time without use. */
export const sessionIdleHours = 12;
/** A browser session ends after this time in any case. */
export const sessionDays = 30;

/** Prefix reserved for the platform; no device id begins with it. */
export const serviceAccountPrefix = 'odograph-';
