import type { TextTree } from './text-tree.ts';

export const exportTexts = {
  exports: {
    title: ['Exports', 'Exports'],
    open: ['Export', 'Exporter'],
    create: ['New export', 'Nouvel export'],
    createAction: ['Create export', 'Créer l’export'],
    vehicle: ['Vehicle', 'Véhicule'],
    vehicleHint: ['Empty: all vehicles', 'Vide : tous les véhicules'],
    all: ['All vehicles', 'Tous les véhicules'],
    of: ['Content', 'Contenu'],
    subjects: {
      readings: ['Readings', 'Relevés'],
      trips: ['Trips', 'Trajets'],
      gaps: ['Missing readings', 'Relevés manquants'],
    },
    format: ['Format', 'Format'],
    formats: {
      csv: ['CSV', 'CSV'],
      ndjson: ['NDJSON', 'NDJSON'],
      gpx: ['GPX', 'GPX'],
      geojson: ['GeoJSON', 'GeoJSON'],
      parquet: ['Parquet', 'Parquet'],
    },
    interval: ['Interval', 'Intervalle'],
    ownInterval: ['Other…', 'Autre…'],
    from: ['From', 'De'],
    until: ['Until', 'Jusqu’à'],
    list: ['Files', 'Fichiers'],
    none: ['No exports', 'Aucun export'],
    noneText: ['A file is kept for a day.', 'Un fichier est gardé un jour.'],
    states: {
      QUEUED: ['Waiting', 'En attente'],
      RUNNING: ['Being written', 'En cours d’écriture'],
      DONE: ['Ready', 'Prêt'],
      FAILED: ['Failed', 'Échec'],
    },
    rows: (count: string) => [`${count} rows`, `${count} lignes`],
    keptUntil: (time: string) => [`kept until ${time}`, `gardé jusqu’à ${time}`],
    download: ['Download', 'Télécharger'],
    remove: ['Delete', 'Supprimer'],
  },
} as const satisfies TextTree;
