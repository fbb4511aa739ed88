// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package dynamicclient makes dynamic clients that decode JSON faster than those of client-go.
//
// The serializer of client-go's dynamic client reads each watch event about ten times before it is a map, so that decoding is most of what
// a program does that only watches. Here, the object of an event is read three times, twice of them only to find its end, and any other object once.
// The results are the same: what this package does not decode itself, such as an error or invalid JSON, it leaves to that serializer. Only custom
// resources of a kind like Status or APIGroup, which that serializer takes for its own types of these names, are different: they are objects here.
package dynamicclient
