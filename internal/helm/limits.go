// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import "github.com/component-operator/runtime/internal/templating"

// MaxOutput is the limit for all files of a rendered chart together, in bytes.
const MaxOutput = templating.MaxOutput
