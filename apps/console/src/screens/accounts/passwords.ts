const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const length = 20;
/** Bytes from here on would make the first characters more likely. */
const fairBytes = 256 - (256 % alphabet.length);

/** Creates a password that a person only needs until the first sign-in; it has 116 bits. */
export function createPassword(): string {
  let password = '';
  while (password.length < length) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < fairBytes) password += alphabet[byte % alphabet.length];
  }
  return password;
}
