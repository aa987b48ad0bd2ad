import { parentPort, workerData } from 'node:worker_threads';
import type { FileJob } from './file.ts';
import { readTexts } from './texts.ts';

const { report, format, language } = workerData as FileJob;
const texts = readTexts(language);
const content =
  format === 'xlsx'
    ? await (await import('./xlsx.ts')).writeXlsx(report, texts)
    : await (await import('./pdf.ts')).writePdf(report, texts, language);
parentPort?.postMessage(content);
