import { Failure, type FailureCode, invalidParameter } from '@odograph/contracts/failures';
import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the failure, once the request is answered with one. */
    failure?: FailureCode;
  }
}

/** Answers every failure: an expected one with its code, any other as an opaque INTERNAL_ERROR. */
export function answerFailure(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  // Work that is cut off by a disconnect fails in many ways, such as a cancelled query; no client waits for an answer.
  if (request.raw.socket.destroyed) {
    request.log.info({ err: error }, 'request failed after its client disconnected');
    reply.raw.destroy();
    return;
  }
  const failure = toFailure(error);
  if (failure.status >= 500 && !(error instanceof Failure)) request.log.error({ err: error }, 'request failed');
  request.failure = failure.code;
  const { retryAfterSeconds, ...details } = failure.details;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  reply
    .code(failure.status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ error: failure.code, message: failure.message, ...details }));
}

export function answerUnknownPath(request: FastifyRequest, reply: FastifyReply): void {
  answerFailure(new Failure('NOT_FOUND', 'no such path'), request, reply);
}

function toFailure(error: FastifyError | Error): Failure {
  if (error instanceof Failure) return error;
  if ('validation' in error && error.validation) return validationFailure(error);
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (status === 429) return new Failure('TOO_MANY_REQUESTS');
  if (status !== undefined && status >= 400 && status < 500) {
    return new Failure('INVALID_PARAMETER', error.message, { field: faultyPart(error) });
  }
  return new Failure('INTERNAL_ERROR', undefined, {}, { cause: error });
}

/** Names the field that the schema rejects, as the client wrote it. */
function validationFailure({ validation, validationContext }: FastifyError): Failure {
  const { field, rule } = describeSchemaFaults(validation ?? []);
  return invalidParameter(field || (validationContext ?? 'body'), rule);
}

function faultyPart(error: FastifyError | Error): string {
  const code = 'code' in error ? error.code : '';
  return code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? 'content-type' : code.startsWith('FST_ERR_CTP') ? 'body' : 'url';
}
