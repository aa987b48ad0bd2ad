// Made from the OpenAPI document of the platform: npm run interface:types. Do not edit.

export const limits = {
  "/v1/x/alarm-rules": {
    "name": {
      "minLength": 1,
      "maxLength": 256
    },
    "kind": {
      "enum": [
        "towing",
        "crash",
        "jamming",
        "silent",
        "low-battery",
        "geofence",
        "speed",
        "unanswered-command"
      ]
    },
    "parameters.afterMinutes": {
      "minimum": 1,
      "maximum": 525600
    },
    "parameters.belowPercent": {
      "minimum": 1,
      "maximum": 100
    },
    "parameters.belowVolts": {
      "minimum": 1,
      "maximum": 100
    },
    "parameters.canKey": {
      "minLength": 1,
      "maxLength": 256
    },
    "parameters.geofenceId": {
      "maxLength": 256
    },
    "parameters.when": {
      "enum": [
        "inside",
        "outside"
      ]
    },
    "parameters.limitKmh": {
      "minimum": 1,
      "maximum": 1000
    }
  },
  "/v1/x/geofences": {
    "name": {
      "minLength": 1,
      "maxLength": 256
    },
    "radiusMetres": {
      "minimum": 10,
      "maximum": 500000
    }
  }
} as const;
