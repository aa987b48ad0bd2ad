import type { ComponentType } from 'preact';
import { useLoad } from '../../api/use-load.ts';
import { LoadFailure, Loading } from './placeholders.tsx';

/** Reloads the page if the platform answers; otherwise the browser would show its error page. @throws TypeError */
async function reloadPage(): Promise<void> {
  await fetch('/', { cache: 'no-store' });
  location.reload();
}

/** A component that loads when first rendered, or earlier on `preload`. */
export type LazyComponent<Props> = ComponentType<Props> & { preload(): void };

/** Wraps a component that is loaded on demand. */
export function lazy<Props extends object = object>(load: () => Promise<ComponentType<Props>>): LazyComponent<Props> {
  let loaded: ComponentType<Props> | undefined;
  let hasFailed = false;
  const loadOnce = async () => {
    // Browsers may cache a failed import, and an upgrade of the platform removes the files of an older page.
    if (hasFailed) await reloadPage();
    try {
      loaded ??= await load();
      return loaded;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  function Lazy(properties: Props) {
    const { failure, reload } = useLoad(loadOnce, []);
    const Show = loaded;
    if (Show) return <Show {...properties} />;
    return failure ? <LoadFailure retry={reload} /> : <Loading />;
  }
  // Rendering the component retries and reports the failure.
  return Object.assign(Lazy, { preload: () => void load().catch(() => undefined) });
}
