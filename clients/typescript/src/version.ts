/** The version of this package, which is that of the service it came with. */
export const VERSION = '1.0.0';
