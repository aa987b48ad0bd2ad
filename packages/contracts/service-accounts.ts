/** Prefix of the MQTT ids of the platform's services; no device id has it. */
export const serviceAccountPrefix = 'odograph-';

/**
 * The MQTT username of the command service, the only one that may publish commands and keys. Its client ids are this
 * name with a suffix of their own; its password is derived from the admin token for this purpose.
 */
export const commandAccount = 'odograph-command';
