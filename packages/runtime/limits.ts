/**
 * Limits that protect the platform from faulty and hostile clients, and intervals between tasks. They are not settings:
 * honest use stays far below them on any installation. Tests pass other values.
 */
export const limits = {
  /** Per IPv4 address or IPv6 /64, without trusted proxies; more than a building full of browsers opens. */
  maxHttpConnectionsPerAddress: 1000,
  /** Time for a request to arrive completely; a slower one gets 408. */
  httpRequestTimeoutMs: 30_000,
  /** Answers in memory that clients have not read yet; one token may hold a quarter, one application half. */
  maxAnswerBytes: 128 * 1024 ** 2,
  /** Lag beyond which a standby serves no reads. */
  maxStandbyLagMs: 10_000,
  /** A turn of the event loop that comes later than this: requests are refused until one comes in time. */
  maxLoopDelayMs: 5000,
  /** Silence on a live stream after which a heartbeat is sent. */
  liveHeartbeatMs: 15_000,
  /** Window for the mean rate at which a client reads its answer. */
  answerRateWindowMs: 15_000,
  /** Total size of all export files. */
  maxExportBytes: 20 * 1024 ** 3,
  /** Per application, including ended jobs whose file is kept. */
  maxExportJobs: 10,
  /** Wrong passwords or keys, counted separately per appId, account, source and address. */
  maxLoginFailuresPerMinute: 20,

  /** Per broker or gateway process; fewer if the process may not open that many files. */
  maxDeviceConnections: 100_000,
  /** Connections without an accepted CONNECT or hello; at most half of all connections. */
  maxUnauthenticatedConnections: 10_000,
  /** Per IPv4 address or IPv6 /64: a network operator may put a whole fleet behind one address. */
  maxUnauthenticatedConnectionsPerAddress: 5000,
  /** Failed CONNECTs per minute for one device id from one address; further failures are answered a second late. */
  maxConnectFailuresPerDevice: 10,
  /** The same per address, across all device ids. */
  maxConnectFailuresPerAddress: 300,
  /** Rates of a device whose application sets none; a week of readings arrives within minutes. */
  deviceUploadsPerSecond: 50,
  deviceBytesPerSecond: 512 * 1024,
  /** Shared by all Teltonika devices behind one IPv4 address or IPv6 /64, possibly a whole fleet. */
  teltonikaUploadsPerSecondPerAddress: 5000,
  teltonikaBytesPerSecondPerAddress: 16 * 1024 ** 2,
  /** Per source and gateway process. */
  sourceRequestsPerSecond: 500,
  sourceBytesPerSecond: 4 * 1024 ** 2,
  /** Per source with `createDevices`; messages of further devices go to quarantine. */
  maxNewDevicesPerHour: 1000,

  /**
   * Unacknowledged uploads in the memory of a broker or gateway; above it, connections are closed. Late uploads may
   * take a third.
   */
  maxHeldBytes: 64 * 1024 ** 2,
  /** Upload jobs in Redis; above it, uploads are not acknowledged. */
  maxBacklogJobs: 20_000,

  /** Age of a live upload in the queue; above it, /health fails. */
  maxUploadDelaySeconds: 120,
  /** Older readings mostly come from a wrong clock. */
  maxReadingAgeDays: 730,
  /** Weeks without data that one device may open per hour; each adds a chunk, which slows down every query. */
  maxNewChunksPerHour: 30,
  /** Uploads of one device quarantined per hour; further ones are only counted. */
  maxQuarantinedUploadsPerHour: 1000,
  /** Interval between two updates of the trips of a vehicle. */
  minTripsIntervalMs: 5000,
  /** Interval between two checks for silent devices, sessions that began or ended, and what ended by its time. */
  alarmCheckIntervalMs: 10_000,
  /** Interval between two searches for deleted vehicles whose data is left. */
  purgeIntervalMs: 10_000,
  /** Longest pause before ingest tries a failed job again. */
  maxJobRetryMs: 15_000,
};
export type Limits = Readonly<typeof limits>;
