// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster has a connection to one cluster as one identity: a client, discovery, an
// event recorder, and the configuration they were made from.
package cluster
