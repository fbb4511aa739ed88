// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package processor

import "time"

// Time is not known; sandboxes need unix anyway.
func Time() time.Duration { return 0 }
