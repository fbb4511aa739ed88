// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MergePatch returns a JSON merge patch with the content. The API server refuses it with a conflict unless the object
// still has the UID and the resource version.
func MergePatch(uid apitypes.UID, resourceVersion string, content map[string]any) (client.Patch, error) {
	given, _ := content["metadata"].(map[string]any)
	metadata := map[string]any{}
	maps.Copy(metadata, given)
	metadata["uid"], metadata["resourceVersion"] = uid, resourceVersion
	content = maps.Clone(content)
	content["metadata"] = metadata
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return client.RawPatch(apitypes.MergePatchType, body), nil
}
