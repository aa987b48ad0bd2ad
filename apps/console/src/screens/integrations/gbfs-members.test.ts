import { describe, expect, it } from 'vitest';
import { type GbfsSettings, pruneSettings } from './gbfs-members.ts';

const minimal: GbfsSettings = {
  publicUrl: 'https://share.example',
  system: {
    ...{ system_id: 'share', languages: ['en'], name: [{ text: 'Share', language: 'en' }], opening_hours: '24/7' },
    ...{ feed_contact_email: 'data@share.example', timezone: 'Europe/Paris' },
  },
  vehicleTypes: [{ vehicle_type_id: 'bike', form_factor: 'bicycle', propulsion_type: 'human' }],
  stations: 'all',
};

describe('finished settings', () => {
  it('have texts only in the languages of the system, and omit members left without text', () => {
    const both = [
      { text: 'Partage', language: 'fr' },
      { text: 'Share', language: 'en' },
    ];
    const french = [{ text: 'Vélo', language: 'fr' }];
    const [bike] = minimal.vehicleTypes;
    const settings = {
      ...minimal,
      system: { ...minimal.system, name: both, operator: french },
      vehicleTypes: [{ ...bike, name: french, pricing_plan_ids: [] }] as GbfsSettings['vehicleTypes'],
    };
    expect(pruneSettings(settings)).toEqual({
      ...minimal,
      vehicleTypes: [{ ...bike, pricing_plan_ids: [] }],
    });
  });

  it('omit a list of prices whose first price was cleared', () => {
    const later = { start: 60, rate: 0.1, interval: 1 };
    const plan = {
      ...{ plan_id: 'minute', name: minimal.system.name, description: minimal.system.name, currency: 'EUR', price: 1 },
      ...{ is_taxable: false, per_km_pricing: [{ start: 0, rate: 0.3, interval: 1 }, later] },
    };
    const cleared = { ...plan, per_min_pricing: [{ start: 0, rate: undefined, interval: 1 }, later] };
    expect(pruneSettings({ ...minimal, pricingPlans: [cleared as never] })).toEqual({
      ...minimal,
      pricingPlans: [plan],
    });
  });
});
