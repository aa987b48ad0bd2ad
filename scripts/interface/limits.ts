interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [fact: string]: unknown;
}

interface Operations {
  readonly post: {
    readonly requestBody: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  };
}

/** The routes whose bodies the console makes forms of. */
const forms = [
  ...['/v1/x/alarm-rules', '/v1/x/geofences', '/v1/x/groups', '/v1/x/webhooks', '/v1/x/notifications'],
  ...['/v1/x/report-schedules', '/v1/x/vehicle/{id}/trips/{tripId}/mileage', '/v1/x/admin/vehicles'],
];
const facts = ['minimum', 'maximum', 'minLength', 'maxLength', 'enum'];

/** Lists the limits of each field of a body, of lists those of an element, and of nested objects by their path. */
function limitsOf({ properties = {} }: Schema, path = ''): [name: string, limits: object][] {
  return Object.entries(properties).flatMap(([name, declared]) => {
    // The other one is null, for a field that is left out.
    const single = declared.anyOf?.[0] ?? declared;
    const field = single.items ?? single;
    const known = Object.entries(field).filter(([fact]) => facts.includes(fact));
    const own: [string, object][] = known.length > 0 ? [[`${path}${name}`, Object.fromEntries(known)]] : [];
    return [...own, ...limitsOf(field, `${path}${name}.`)];
  });
}

/** Writes the limits of the fields that the console has forms for. @param document the OpenAPI document of the platform */
export function writeLimits(document: { readonly paths?: object }): string {
  const paths = Object(document.paths) as Readonly<Record<string, Operations>>;
  const limits = forms.map((path) => {
    const schema = paths[path]?.post.requestBody.content['application/json'].schema;
    if (!schema) throw new Error(`the interface has no form ${path}`);
    return [path, Object.fromEntries(limitsOf(schema))];
  });
  return `// Generated from the OpenAPI document by scripts/interface. Do not edit.

export const limits = ${JSON.stringify(Object.fromEntries(limits), null, 2)} as const;
`;
}
