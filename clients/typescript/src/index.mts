/**
 * The package for `import`: the same objects that `require()` gives, so that an error of one is an instance of the
 * other's class.
 */
export * from './index.js';
