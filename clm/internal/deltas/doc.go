// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package deltas compresses contents, each by itself or as the difference from another one, its base.
//
// # Contract
//
// [Encode] is deterministic. [Decode] returns what was encoded if it is given the same base; otherwise it fails, because the result has a checksum. The
// difference between two similar contents is a small fraction of either, wherever they differ. The format is that of Zstandard, and a base is a raw
// dictionary.
//
// A content and its base may have up to [MaxSize] bytes together. Both functions are safe for concurrent use. They need several times as much memory as the
// contents have.
package deltas
