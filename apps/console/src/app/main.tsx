import './tokens.css';
import './base.css';
import { render } from 'preact';
import { applyTheme } from '../preferences.ts';
import { followLinks } from '../router.ts';
import { keepSession, readSession } from '../session.ts';
import { followLanguage } from '../texts/texts.ts';
import { App } from './app.tsx';

applyTheme();
followLinks();
void readSession();
keepSession();
// Browsers may refuse it, for example in a private window; the console then needs the network to open.
navigator.serviceWorker?.register('/service-worker.js').catch(() => undefined);
const root = document.getElementById('app');
await followLanguage();
if (root) render(<App />, root);
