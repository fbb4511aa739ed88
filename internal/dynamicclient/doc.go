// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package dynamicclient makes dynamic clients that decode JSON faster than those of client-go.
//
// The serializer of client-go's dynamic client reads each watch event about ten times before it is a map, so that decoding is most of what
// a program does that only watches. Here, the object of an event is read three times, twice of them only to find its end, and any other answer once.
// The results are the same: what this package does not decode itself, such as an error or invalid JSON, it leaves to that serializer. Only custom
// resources of kind Status are different: these are objects here, and errors there.
package dynamicclient
