// Imports nothing, because the console bundles this table for the browser.

/** The name, unit and bounds of a field of a reading, for everything that shows it. */
export interface FieldFacts {
  /** English, French. */
  readonly name: readonly [en: string, fr: string];
  /** Empty for words, flags, counts and texts. */
  readonly unit: string;
  /** Decimals to show. */
  readonly decimals: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** UNIX seconds or milliseconds, or ISO 8601. */
  readonly isTime?: true;
  /** True or false; 1 or 0 in series. */
  readonly isFlag?: true;
  /** Devices send 0 for an unknown value. */
  readonly isUnknownAtZero?: true;
  /** Another field with the same quantity; the newer value of the two counts. */
  readonly sameAs?: string;
}

type Options = Omit<Partial<FieldFacts>, 'name' | 'unit' | 'decimals'>;

const fact = (en: string, fr: string, unit = '', decimals = 0, options: Options = {}): FieldFacts => ({
  ...{ name: [en, fr], unit, decimals, ...options },
});
const percent = (en: string, fr: string, options: Options = {}): FieldFacts =>
  fact(en, fr, '%', 0, { minimum: 0, maximum: 100, ...options });
const flag = (en: string, fr: string): FieldFacts => fact(en, fr, '', 0, { isFlag: true });
const isUnknownAtZero = true;

/** The fields of readings by group, in display order (schemas: telemetry.ts). */
export const readingFields = {
  location: {
    latitude: fact('Latitude', 'Latitude', '°', 5, { minimum: -90, maximum: 90 }),
    longitude: fact('Longitude', 'Longitude', '°', 5, { minimum: -180, maximum: 180 }),
    speed: fact('Speed', 'Vitesse', 'km/h'),
    altitude: fact('Altitude', 'Altitude', 'm'),
    angle: fact('Heading', 'Cap', '°', 0, { minimum: 0, maximum: 360 }),
    satellites: fact('Satellites', 'Satellites'),
  },
  status: {
    ignition: flag('Ignition', 'Contact'),
    movement: flag('In motion', 'En mouvement'),
    mileage: fact('Mileage', 'Kilométrage', 'km', 0, { isUnknownAtZero }),
    autonomy: fact('Range', 'Autonomie', 'km', 0, { isUnknownAtZero }),
  },
  electric: {
    soc: percent('Charge', 'Niveau de charge'),
    soh: percent('State of health', 'État de santé', { isUnknownAtZero }),
    current: fact('Current', 'Courant', 'A', 1),
    voltage: fact('Voltage', 'Tension', 'V', 1, { isUnknownAtZero }),
    energy: fact('Energy supplied', 'Énergie fournie', 'kWh', 1),
    maxEnergy: fact('Capacity', 'Capacité', 'kWh', 1, { isUnknownAtZero }),
    temperature: fact('Battery temperature', 'Température de la batterie', '°C', 1),
    minCellVoltage: fact('Lowest cell voltage', 'Tension de cellule minimale', 'V', 3, { isUnknownAtZero }),
    maxCellVoltage: fact('Highest cell voltage', 'Tension de cellule maximale', 'V', 3, { isUnknownAtZero }),
    minCellTemperature: fact('Coldest cell', 'Cellule la plus froide', '°C', 1),
    maxCellTemperature: fact('Warmest cell', 'Cellule la plus chaude', '°C', 1),
    lifetimePowerUse: fact('Lifetime energy used', 'Énergie consommée au total', 'kWh', 0, { isUnknownAtZero }),
    lifetimeChargePower: fact('Lifetime energy charged', 'Énergie chargée au total', 'kWh', 0, { isUnknownAtZero }),
  },
  fleet: {
    lock: fact('Lock', 'Verrouillage'),
    doors: fact('Doors', 'Portes'),
    windows: fact('Windows', 'Vitres'),
    engine: fact('Engine', 'Moteur'),
    immobilizer: fact('Immobilizer', 'Antidémarrage'),
    handbrake: fact('Handbrake', 'Frein à main'),
    lights: fact('Lights', 'Feux'),
    vehicleKey: flag('Key in holder', 'Clé dans son support'),
    fuel: fact('Fuel', 'Carburant', 'l', 1),
    fuelRange: percent('Fuel level', 'Niveau de carburant'),
    chargingAdapterStatus: fact('Charging cable', 'Câble de recharge'),
    ChargingStatus: fact('Charging', 'Recharge'),
    ChargingUntil: fact('Charging until', 'Fin de recharge', '', 0, { isTime: true, isUnknownAtZero }),
    ChargeLevel: percent('Charge', 'Niveau de charge', { sameAs: 'soc' }),
    RemainingRange: fact('Range', 'Autonomie', 'km', 0, { isUnknownAtZero, sameAs: 'autonomy' }),
    speed: fact('Speed', 'Vitesse', 'km/h', 0, { sameAs: 'speed' }),
    mileage: fact('Mileage', 'Kilométrage', 'km', 0, { isUnknownAtZero, sameAs: 'mileage' }),
    bluetooth: fact('Bluetooth', 'Bluetooth'),
    authenticated: flag('Authenticated by Bluetooth', 'Authentifié par Bluetooth'),
    cardholder: fact('Cards', 'Cartes'),
  },
  alarms: {
    towing: flag('Towing', 'Remorquage'),
    crash: flag('Crash', 'Choc'),
    gps_jamming: flag('GPS jamming', 'Brouillage GPS'),
    gnss_jamming: flag('GNSS jamming', 'Brouillage GNSS'),
  },
} satisfies Readonly<Record<string, Readonly<Record<string, FieldFacts>>>>;

/** The values of Bluetooth sensors by key; other keys are free-form names. */
export const sensorFields: Readonly<Record<string, FieldFacts>> = {
  temperature: fact('temperature', 'température', '°C', 1),
  humidity: percent('humidity', 'humidité'),
  battery: percent('battery', 'batterie'),
  battery_voltage: fact('battery voltage', 'tension de la batterie', 'V', 2),
  low_battery: flag('low battery', 'batterie faible'),
  rssi: fact('signal', 'signal', 'dBm'),
  pitch: fact('pitch', 'tangage', '°'),
  roll: fact('roll', 'roulis', '°'),
  magnet: flag('magnet', 'aimant'),
  movement: flag('movement', 'mouvement'),
  movement_count: fact('movements', 'mouvements'),
};

/** The fields with a quantity over time, by their names in exports and series. */
export const quantityFields = {
  ...readingFields.location,
  ...readingFields.status,
  ...readingFields.electric,
} satisfies Readonly<Record<string, FieldFacts>>;
