import { type KyselyPlugin, type QueryId, RawNode, type RootOperationNode } from 'kysely';

/** What ran: the text of a statement written as SQL, undefined of one that was built. */
export type StatementText = string | undefined;

/** Lets a test do something between a statement's end and the moment its caller learns of it. */
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
