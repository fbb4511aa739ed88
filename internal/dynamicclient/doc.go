// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package dynamicclient makes dynamic clients that decode objects and watch events in one pass over their bytes.
//
// The serializer of client-go's dynamic client reads each watch event about ten times before it is a map, so that decoding is most of what
// a program does that only watches. The answers are the same: what this package does not decode itself, such as a Status or invalid JSON, it
// leaves to that serializer.
package dynamicclient
