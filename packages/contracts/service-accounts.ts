/** Prefix of the MQTT ids of the platform's services; no device id has it. */
export const serviceAccountPrefix = 'odograph-';

/**
 * The MQTT usernames of services. Their client ids are this name with a suffix of their own; their passwords are derived from
 * the admin token, each for its purpose. The command service is the only one that may publish commands and keys.
 */
export const commandAccount = 'odograph-command';

/** The gateway: the only one that may receive the commands of every device, and publishes nothing. */
export const gatewayAccount = 'odograph-gateway';
