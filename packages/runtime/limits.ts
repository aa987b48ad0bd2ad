/**
 * Limits that protect the platform from faulty and hostile clients, and intervals between tasks. They are no settings: honest
 * use stays far below them on any installation. Tests start services with others.
 */
export const limits = {
  /** Of an IPv4 address or IPv6 /64, without trusted proxies: more than a building full of browsers opens. */
  maxHttpConnectionsPerAddress: 1000,
  /** For a request to arrive completely, otherwise 408. */
  httpRequestTimeoutMs: 30_000,
  /** Answers in memory until clients have read them; a token can hold a quarter, an application half. */
  maxAnswerBytes: 128 * 1024 ** 2,
  /** Window for the mean rate at which a client reads its answer. */
  answerRateWindowMs: 15_000,
  /** Of all export files together. */
  maxExportBytes: 20 * 1024 ** 3,
  /** Of an application, those whose file is kept included. */
  maxExportJobs: 10,
  /** Wrong passwords or keys, for each appId, account, source and address separately. */
  maxLoginFailuresPerMinute: 20,

  /** Of broker and gateway each; fewer if the process may not open so many files. */
  maxDeviceConnections: 100_000,
  /** Without an accepted CONNECT or hello; at most half of all connections. */
  maxUnauthenticatedConnections: 10_000,
  /** Of one IPv4 address or IPv6 /64: a network operator may put a whole fleet behind one address. */
  maxUnauthenticatedConnectionsPerAddress: 5000,
  /** Failed CONNECTs a minute of one device id from one address; further failures are answered a second late. */
  maxConnectFailuresPerDevice: 10,
  /** The same for one address, whatever the ids. */
  maxConnectFailuresPerAddress: 300,
  /** Rates of a device whose application sets none: a week of readings arrives within minutes. */
  deviceUploadsPerSecond: 50,
  deviceBytesPerSecond: 512 * 1024,
  /** Of all Teltonika devices of one IPv4 address or IPv6 /64, behind which may be a whole fleet. */
  teltonikaUploadsPerSecondOfAddress: 5000,
  teltonikaBytesPerSecondOfAddress: 16 * 1024 ** 2,
  /** Of one source at a gateway process. */
  sourceRequestsPerSecond: 500,
  sourceBytesPerSecond: 4 * 1024 ** 2,
  /** Of one source with `createDevices`; messages of further ones go to quarantine. */
  maxNewDevicesPerHour: 1000,

  /** Unacknowledged uploads in the memory of a broker or gateway; above it connections are closed. */
  maxHeldBytes: 64 * 1024 ** 2,
  /** Of the backlog in Redis; above it uploads are not acknowledged. */
  maxBacklogJobs: 20_000,

  /** Age of a live upload that waits to be stored, above which /health fails. */
  maxUploadDelaySeconds: 120,
  /** Older readings are mostly those of a wrong clock. */
  maxReadingAgeDays: 730,
  /** Weeks without any data that one device may open in an hour: each is a chunk, which costs every query. */
  maxNewChunksPerHour: 30,
  /** Uploads of one device quarantined in an hour; further ones are only counted. */
  maxQuarantinedUploadsPerHour: 1000,
  /** Between two updates of the trips of a vehicle. */
  minTripsIntervalMs: 5000,
};
export type Limits = Readonly<typeof limits>;
