// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/helmreleases"
)

// examineHelm looks for releases that are known to both clm and Helm.
func (e *examination) examineHelm(ctx context.Context) error {
	if len(e.intact) == 0 {
		return nil
	}
	names, err := helmreleases.Names(ctx, e.connection.Client(), e.namespace)
	if err != nil {
		return e.denied(err)
	}
	for _, release := range e.intact {
		if !names[apitypes.NamespacedName{Namespace: release.Namespace, Name: release.Name}] {
			continue
		}
		known := helmreleases.Release{Namespace: release.Namespace, Name: release.Name}
		e.add(Finding{
			Kind: FindingHelm, Release: release.String(), Message: "Helm has a record of a release with the same name: " + helmreleases.Danger,
			Advice: "if the release was adopted from it: " + known.RetireCommand(),
		})
	}
	return nil
}
