// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package bookkeeping compares desired objects with the inventory of the last call, and plans the next inventory, without looking at the cluster.
package bookkeeping
