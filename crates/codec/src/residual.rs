//! Residuals to bytes: zigzag, byte planes, joint tokens.
