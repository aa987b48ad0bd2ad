import type { TextTree } from './text-tree.ts';

export const mapSettingsTexts = {
  mapSettings: {
    title: ['Street map', 'Carte des rues'],
    none: [
      'No street map: only outlines of countries are shown.',
      'Pas de carte des rues : seuls les contours des pays sont affichés.',
    ],
    setUp: ['Add a street map', 'Ajouter une carte des rues'],
    current: ['Current map', 'Carte actuelle'],
    kind: ['Map', 'Carte'],
    kinds: {
      world: ['Outlines of countries (Natural Earth)', 'Contours des pays (Natural Earth)'],
      'vector-file': ['Streets from a file on the platform', 'Rues d’un fichier de la plateforme'],
      'raster-file': ['Images from a file on the platform', 'Images d’un fichier de la plateforme'],
      images: ['Images from another site', 'Images d’un autre site'],
      style: ['Style from another site', 'Style d’un autre site'],
    },
    setting: ['Setting', 'Réglage'],
    noSetting: ['none: DATA_DIR/map.pmtiles', 'aucun : DATA_DIR/map.pmtiles'],
    from: ['From', 'Provenance'],
    area: ['Area', 'Zone'],
    zooms: ['Zoom levels', 'Niveaux de zoom'],
    attribution: ['Attribution', 'Attribution'],
    size: ['Size', 'Taille'],
    changedAt: ['Written', 'Écrit'],
    fault: (fault: string) => [`The map file ${fault}.`, `Fichier de carte inutilisable (${fault}).`],
    settingFirst: (name: string) => [
      `${name} names the map. Remove the setting to use a downloaded or an uploaded map.`,
      `${name} désigne la carte. Retirez ce réglage pour utiliser une carte téléchargée ou envoyée.`,
    ],
    download: ['Download an area', 'Télécharger une zone'],
    downloadText: [
      'Run this command where the platform runs. It keeps only the tiles around your fleet, and the console uses them at once.',
      'Exécutez cette commande là où tourne la plateforme. Elle ne garde que les tuiles autour de votre flotte, et la console les utilise aussitôt.',
    ],
    downloadReveals: [
      'build.protomaps.com learns this area once, from the address of the platform. Browsers ask only the platform.',
      'build.protomaps.com apprend cette zone une seule fois, depuis l’adresse de la plateforme. Les navigateurs ne s’adressent qu’à la plateforme.',
    ],
    command: ['Command', 'Commande'],
    upload: ['Upload a file', 'Envoyer un fichier'],
    uploadText: [
      'A PMTiles file in the schema of Protomaps, or with images, of at most 20 GiB. It replaces DATA_DIR/map.pmtiles.',
      'Un fichier PMTiles au schéma de Protomaps, ou d’images, de 20 Gio au plus. Il remplace DATA_DIR/map.pmtiles.',
    ],
    uploadReveals: ['No other site learns anything.', 'Aucun autre site n’apprend quoi que ce soit.'],
    file: ['PMTiles file', 'Fichier PMTiles'],
    uploadAction: ['Upload', 'Envoyer'],
    uploading: (percent: string) => [`${percent} uploaded`, `${percent} envoyés`],
    uploaded: ['The map is in use.', 'La carte est utilisée.'],
    site: ['Name another site', 'Désigner un autre site'],
    siteText: [
      'Set one of these, then restart the process that runs the service console.',
      'Définissez l’un de ces réglages, puis redémarrez le processus du service console.',
    ],
    siteReveals: [
      'Every browser loads the map from that site, which learns its address and the area it views.',
      'Chaque navigateur charge la carte depuis ce site, qui apprend son adresse et la zone affichée.',
    ],
    images: ['Images', 'Images'],
    style: ['Style', 'Style'],
    notAllowed: [
      'Only an administrator of the whole platform can change the map.',
      'Seul un administrateur de toute la plateforme peut changer la carte.',
    ],
  },
} as const satisfies TextTree;
