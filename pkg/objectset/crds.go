// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import "embed"

// CRDs has the definitions of ObjectSets, ClusterObjectSets, ObjectDeployments and ClusterObjectDeployments, in
// crds/*.yaml.
//
//go:embed crds/*.yaml
var CRDs embed.FS
