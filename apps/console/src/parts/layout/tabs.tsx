interface TabsOptions {
  readonly label: string;
  readonly tabs: readonly { readonly href: string; readonly name: string; readonly isCurrent: boolean }[];
}

/** Links between the parts of a screen. */
export function Tabs({ label, tabs }: TabsOptions) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, name, isCurrent }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
