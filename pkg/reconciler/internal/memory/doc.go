// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package memory remembers when objects were corrected, verified and retried, and other facts that only save requests. Losing it does no harm.
package memory
