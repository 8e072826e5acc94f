module fairlead/tools/kube/crds

go 1.24.0

require (
	sigs.k8s.io/gateway-api v1.4.1
	sigs.k8s.io/gateway-api-inference-extension v1.0.0
	sigs.k8s.io/lws v0.7.0
)
