/** Ids that begin so belong to services of the platform, never to a device. */
export const serviceAccountPrefix = 'odograph-';

/**
 * The MQTT username of the command service, the only one that may publish commands and keys. Its client ids are this
 * name with a suffix of their own; its password is derived from the admin token for this purpose.
 */
export const commandAccount = 'odograph-command';
