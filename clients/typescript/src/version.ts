/** The version of this package, which is that of the service it came with. */
export const VERSION = '0.1.0-dev';
