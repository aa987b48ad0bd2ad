import { accountTexts } from './accounts.ts';
import { alarmTexts } from './alarms.ts';
import { commonTexts } from './common.ts';
import { deviceTexts } from './devices.ts';
import { exportTexts } from './exports.ts';
import { gbfsTexts } from './gbfs.ts';
import { integrationTexts } from './integrations.ts';
import { mapSettingsTexts } from './map-settings.ts';
import { newVehicleTexts } from './new-vehicles.ts';
import { privacyTexts } from './privacy.ts';
import { vehicleTexts } from './vehicles.ts';

/** Every text of the console in both languages. Imports nothing that needs a browser, so that tests can read it. */
export const tree = {
  ...commonTexts,
  ...vehicleTexts,
  ...newVehicleTexts,
  ...deviceTexts,
  ...alarmTexts,
  ...accountTexts,
  ...mapSettingsTexts,
  ...integrationTexts,
  ...gbfsTexts,
  ...exportTexts,
  ...privacyTexts,
};
