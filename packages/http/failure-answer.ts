import { Failure, type FailureCode, invalidParameter } from '@odograph/contracts/failures';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request was refused with; set when it is answered. */
    failure?: FailureCode;
  }
}

/** Every failure leaves the house here: an expected one with its code, any other as an opaque INTERNAL_ERROR. */
export function answerFailure(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  const failure = toFailure(error);
  if (failure.status >= 500 && !(error instanceof Failure)) request.log.error({ err: error }, 'a request failed');
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
  answerFailure(new Failure('NOT_FOUND', 'there is no such path'), request, reply);
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

/** Names the field that a schema refused, as the client wrote it. */
function validationFailure(error: FastifyError): Failure {
  const fault = error.validation?.[0];
  if (!fault) return new Failure('INVALID_PARAMETER');
  const missing = fault.keyword === 'required' ? String(fault.params['missingProperty']) : undefined;
  const path = fault.instancePath.split('/').slice(1);
  const field = [...path, ...(missing === undefined ? [] : [missing])].join('.');
  const message = missing === undefined ? (fault.message ?? 'is malformed') : 'is missing';
  return invalidParameter(field || (error.validationContext ?? 'body'), message);
}

function faultyPart(error: FastifyError | Error): string {
  const code = 'code' in error ? error.code : '';
  return code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? 'content-type' : code.startsWith('FST_ERR_CTP') ? 'body' : 'url';
}
