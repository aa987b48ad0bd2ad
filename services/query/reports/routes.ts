import { Readable } from 'node:stream';
import type { Addresses } from '@odograph/database/addresses';
import type { Tables } from '@odograph/database/tables';
import { writeTimestamp } from '@odograph/database/trips';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendFile, sendJson } from '@odograph/http/paging';
import { AppId, moment, answers as responses, word } from '@odograph/http/schemas';
import { type Column, type ReportKind, reportKinds, tablesOf } from '@odograph/reports/columns';
import { maxFileRows, type ReportFileFormat, reportFileTypes, writeReportFile } from '@odograph/reports/file';
import { type Report, readReport } from '@odograph/reports/report';
import { readTexts, reportLanguages } from '@odograph/reports/texts';
import type { Kysely } from 'kysely';
import Type, { type TSchema } from 'typebox';
import type { Answers } from '../shared/answers.ts';
import { viewingReaderOf } from '../shared/read-budget.ts';
import { parseScope, reportFilters } from './request.ts';

const texts = readTexts('en');
/** Upper estimate of the memory of a row. */
const maxRowBytes = 1024;
const fileFormats = Object.keys(reportFileTypes) as ReportFileFormat[];
const ReportQuery = Type.Object({
  ...reportFilters,
  format: Type.Optional(
    word(['json', ...fileFormats], { description: `default: json; pdf: at most ${maxFileRows.pdf} rows in a table` }),
  ),
  language: Type.String({
    ...{ maxLength: 16, default: 'en', examples: ['fr'] },
    description: `language of titles and headings in files: ${reportLanguages.join(', ')}`,
  }),
  appId: Type.Optional(AppId),
});

function schemaOf({ key, type }: Column): TSchema {
  const { [key]: description = key } = texts.columns;
  if (type === 'moment') return moment(description);
  if (type === 'whole') return Type.Integer({ description });
  if (type === 'number') return Type.Number({ description });
  return type === 'flag' ? Type.Boolean({ description }) : Type.String({ description });
}

const pascalCase = (kind: string) => kind.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Builds the response schema of a kind of report. Every column is optional, because unknown values are omitted. */
function answerOf(kind: ReportKind): TSchema {
  const tables = Object.entries(tablesOf(kind)).map(([name, columns]) => {
    const fields = Object.fromEntries(columns.map((column) => [column.key, Type.Optional(schemaOf(column))]));
    return [name, Type.Array(Type.Object(fields), { description: texts.tables[name] ?? name })] as const;
  });
  return Type.Object(
    {
      kind: Type.String({ examples: [kind] }),
      from: moment('start, inclusive'),
      until: moment('end, exclusive'),
      timeZone: Type.String({ examples: ['Europe/Paris'] }),
      ...Object.fromEntries(tables),
    },
    { title: `${pascalCase(kind)}Report` },
  );
}

function writeReport({ kind, scope: { from, until, timeZone }, tables }: Report): string {
  return JSON.stringify({ kind, from: writeTimestamp(from), until: writeTimestamp(until), timeZone, ...tables });
}

/** Registers the report routes (docs/reports.md). */
export function reportRoutes(answers: Answers, db: Kysely<Tables>, addresses: Addresses): RoutePlugin {
  return (http) => {
    for (const kind of Object.keys(reportKinds) as ReportKind[]) {
      http.get(
        `/v1/x/reports/${kind}`,
        {
          config: { isLinked: true },
          schema: {
            tags: ['reports'],
            summary: `Report: ${texts.kinds[kind]}`,
            querystring: ReportQuery,
            produces: ['application/json', ...Object.values(reportFileTypes)],
            response: responses(answerOf(kind), 'UNKNOWN_VEHICLE', 'UNKNOWN_APPLICATION', 'INVALID_INTERVAL'),
          },
        },
        async (request, reply) => {
          const { viewer, query } = request;
          const { format = 'json', language } = query;
          readTexts(language);
          const scope = await parseScope(db, viewer, query);
          if (format === 'json') {
            const body = await answers.openWhole(viewingReaderOf(request), async (shrinkTo) => {
              const onRead = (rows: number) => shrinkTo(rows * maxRowBytes);
              return writeReport(await readReport(db, kind, scope, { addresses, onRead }));
            });
            return sendJson(reply, body);
          }
          const { file } = await writeReportFile(db, addresses, { kind, scope, format, language });
          return sendFile(reply, Readable.from([file.content]), { fileName: file.name, mediaType: file.mediaType });
        },
      );
    }
  };
}
