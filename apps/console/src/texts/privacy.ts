import type { TextTree } from './text-tree.ts';

export const privacyTexts = {
  privacy: {
    title: ['Location privacy', 'Position privée'],
    on: (since: string) => [
      `On since ${since}: positions are neither shown nor stored.`,
      `Activée depuis ${since} : les positions ne sont ni affichées ni enregistrées.`,
    ],
    off: ['Off: positions are stored.', 'Désactivée : les positions sont enregistrées.'],
    turnOn: ['Turn on', 'Activer'],
    turnOff: ['Turn off', 'Désactiver'],
    turnOnTitle: (plate: string) => [
      `Turn on location privacy for ${plate}?`,
      `Rendre privée la position de ${plate} ?`,
    ],
    turnOnText: [
      'From now on, positions of the vehicle are not stored, and nobody can recover them later. Its other values are stored.',
      'Dès maintenant, les positions du véhicule ne sont plus enregistrées, et personne ne pourra les retrouver. Ses autres valeurs le sont.',
    ],
    turnOffTitle: (plate: string) => [
      `Turn off location privacy for ${plate}?`,
      `Ne plus rendre privée la position de ${plate} ?`,
    ],
    turnOffText: [
      'From now on, positions are stored and shown to everyone who sees the vehicle.',
      'Dès maintenant, les positions sont enregistrées et affichées à tous ceux qui voient le véhicule.',
    ],
    intervals: ['Private intervals of the last 90 days', 'Intervalles privés des 90 derniers jours'],
    none: ['None', 'Aucun'],
    from: ['From', 'De'],
    until: ['Until', 'Jusqu’à'],
    now: ['still on', 'toujours active'],
  },
  driverKeys: {
    title: ['Bluetooth keys', 'Clés Bluetooth'],
    none: ['No current or scheduled key', 'Aucune clé actuelle ou prévue'],
    vehicle: ['Vehicle', 'Véhicule'],
    from: ['From', 'De'],
    until: ['Until', 'Jusqu’à'],
    revoke: ['Revoke', 'Révoquer'],
    revokeTitle: (plate: string) => [`Revoke the key to ${plate}?`, `Révoquer la clé de ${plate} ?`],
    revokeText: [
      'The device refuses the key as soon as it is connected. A revoked key cannot be restored.',
      'Le boîtier refuse la clé dès qu’il est connecté. Une clé révoquée ne peut pas être rétablie.',
    ],
    revokeAll: ['Revoke all keys', 'Révoquer toutes les clés'],
    revokeAllTitle: (name: string) => [`Revoke all keys of ${name}?`, `Révoquer toutes les clés de ${name} ?`],
    revokeAllText: [
      'Waits until the devices have confirmed it. Those that are not connected confirm later.',
      'Attend que les boîtiers l’aient confirmé. Ceux qui ne sont pas connectés confirment plus tard.',
    ],
    unconfirmed: [
      'All keys are revoked. Some devices have not confirmed yet; they will once they are connected.',
      'Toutes les clés sont révoquées. Des boîtiers ne l’ont pas encore confirmé ; ils le feront une fois connectés.',
    ],
  },
} as const satisfies TextTree;
