import { type KyselyPlugin, type QueryId, RawNode, type RootOperationNode } from 'kysely';

/** Text of a statement written as plain SQL; undefined for one from the query builder. */
export type StatementText = string | undefined;

/** Runs a hook of a test between the end of each statement and the return to its caller. */
export function afterEachStatement(act: (text: StatementText) => Promise<void> | void): KyselyPlugin {
  const texts = new WeakMap<QueryId, string>();
  return {
    transformQuery({ node, queryId }): RootOperationNode {
      if (RawNode.is(node)) texts.set(queryId, node.sqlFragments.join('?'));
      return node;
    },
    async transformResult({ result, queryId }) {
      await act(texts.get(queryId));
      return result;
    },
  };
}
