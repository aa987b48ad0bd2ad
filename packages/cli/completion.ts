import { type Command, flag, optional } from './commands/command.ts';
import { UsageFailure } from './server/admin-api.ts';

/** Options that program.ts adds to every command. */
const commonOptions = {
  server: optional('address of the platform'),
  json: flag('print JSON on a terminal too'),
  help: flag('show the help'),
};

/** The supported shells. */
export const shells = ['bash', 'zsh'] as const;

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** The kinds of an option or operand as the scripts name them: words to choose from, a path, or a value that cannot be known. */
const kindOf = (values: readonly string[] | 'file' | undefined): string =>
  values === undefined ? 'value' : values === 'file' ? 'file' : `words ${values.join(' ')}`;

function operandKind({ operand, operandValues }: Command): string {
  if (operandValues !== undefined) return kindOf(operandValues);
  return kindOf(operand === 'FILE' ? 'file' : undefined);
}

const optionsOf = ({ options }: Command) => Object.entries({ ...options, ...commonOptions });

/** Lines of a `case` on a command and the word before the cursor, which may be an option with a value. */
function valueCases(command: Command): string[] {
  return optionsOf(command)
    .filter(([, { kind }]) => kind !== 'flag')
    .map(([name, { values }]) => `    ${quote(`${command.name} --${name}`)}) kind=${quote(kindOf(values))} ;;`);
}

/** Groups of commands by their first word, with the words that may follow. */
function groupsOf(commands: readonly Command[]): Map<string, Command[]> {
  const groups = new Map<string, Command[]>();
  for (const command of commands) {
    const [first = ''] = command.name.split(' ');
    groups.set(first, [...(groups.get(first) ?? []), command]);
  }
  return groups;
}

/**
 * Finds, in shell, the command that the words before the cursor name, and the kind of what the cursor is at. Both shells
 * understand it.
 */
function commandSearch(commands: readonly Command[]): string {
  const patterns = commands.map(({ name }) => quote(name)).join('|');
  return `  for word in "\${words_before[@]}"; do
    case "$word" in -*) continue ;; esac
    if [[ -z $first ]]; then first=$word; elif [[ -z $second ]]; then second=$word; fi
  done
  case "$first" in ${patterns}) command=$first ;; esac
  case "$first $second" in ${patterns}) command="$first $second" ;; esac
  case "$command" in
${commands.map((command) => `    ${quote(command.name)}) kind=${quote(operandKind(command))} ;;`).join('\n')}
  esac
  case "$command $previous" in
${commands.flatMap(valueCases).join('\n')}
  esac`;
}

/** The groups that need a second word, with the commands in them. */
const withSecondWord = (commands: readonly Command[]) =>
  [...groupsOf(commands)].filter(([first, members]) => members.some(({ name }) => name !== first));

function bashScript(commands: readonly Command[]): string {
  const groups = [...groupsOf(commands)];
  return `# bash completion of odograph: source it, or append it to ~/.bashrc.
_odograph() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} start=1 first= second= command= kind= word choices=
  [[ \${COMP_WORDS[0]##*/} == npx ]] && start=2
  local words_before=("\${COMP_WORDS[@]:start:COMP_CWORD-start}")
  (( COMP_CWORD == start )) && previous=
${commandSearch(commands)}
  COMPREPLY=()
  if [[ $current == -* && -n $command ]]; then
    case "$command" in
${commands
  .map(
    (one) =>
      `      ${quote(one.name)}) choices=${quote(
        optionsOf(one)
          .map(([name]) => `--${name}`)
          .join(' '),
      )} ;;`,
  )
  .join('\n')}
    esac
  elif [[ -z $first ]]; then
    choices=${quote(groups.map(([first]) => first).join(' '))}
  elif [[ -z $command ]]; then
    case "$first" in
${withSecondWord(commands)
  .map(
    ([first, members]) =>
      `      ${quote(first)}) choices=${quote(members.map(({ name }) => name.slice(first.length + 1)).join(' '))} ;;`,
  )
  .join('\n')}
    esac
  elif [[ $kind == file ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
    return
  elif [[ $kind == words\\ * ]]; then
    choices=\${kind#words }
  fi
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$choices" -- "$current")
}
complete -F _odograph odograph
# npx completes nothing on its own; another completion of it is kept.
_odograph_npx() { if [[ \${COMP_WORDS[1]} == odograph && $COMP_CWORD -gt 1 ]]; then _odograph; fi; }
complete -p npx >/dev/null 2>&1 || complete -o default -F _odograph_npx npx
`;
}

const described = (name: string, summary: string): string => quote(`${name.replaceAll(':', '\\:')}:${summary}`);

function zshScript(commands: readonly Command[]): string {
  const groups = [...groupsOf(commands)];
  return `#compdef odograph
# zsh completion of odograph: a file _odograph in a directory of fpath, or sourced after compinit.
_odograph() {
  local current=\${words[CURRENT]} previous=\${words[CURRENT-1]} first= second= command= kind= word
  local -a words_before choices
  words_before=("\${(@)words[2,CURRENT-1]}")
  (( CURRENT == 2 )) && previous=
${commandSearch(commands)}
  if [[ $current == -* && -n $command ]]; then
    case "$command" in
${commands
  .map(
    (one) =>
      `      ${quote(one.name)}) choices=(${optionsOf(one)
        .map(([name, { help }]) => described(`--${name}`, help))
        .join(' ')}) ;;`,
  )
  .join('\n')}
    esac
    _describe -o option choices
  elif [[ -z $first ]]; then
    choices=(${groups.map(([first, members]) => described(first, members[0]?.name !== first ? members.map(({ name }) => name.slice(first.length + 1)).join(', ') : (members[0]?.summary ?? ''))).join(' ')})
    _describe command choices
  elif [[ -z $command ]]; then
    case "$first" in
${withSecondWord(commands)
  .map(
    ([first, members]) =>
      `      ${quote(first)}) choices=(${members.map(({ name, summary }) => described(name.slice(first.length + 1), summary)).join(' ')}) ;;`,
  )
  .join('\n')}
    esac
    _describe command choices
  elif [[ $kind == file ]]; then
    _files
  elif [[ $kind == 'words '* ]]; then
    compadd -- \${=kind#words }
  fi
}
if [[ \${funcstack[1]} == _odograph ]]; then _odograph "$@"; else compdef _odograph odograph; fi
`;
}

/** Returns the script by which a shell completes the commands. @throws UsageFailure for another shell */
export function completionScript(commands: readonly Command[], shell: string): string {
  if (shell === 'bash') return bashScript(commands);
  if (shell === 'zsh') return zshScript(commands);
  throw new UsageFailure(`expected one of ${shells.join(', ')}`);
}
