// Made from the OpenAPI document of the platform: npm run console:types. Do not edit.

export interface paths {
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/booking/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getBookingById"];
        put: operations["putBookingById"];
        post?: never;
        delete: operations["deleteBookingById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/booking/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postBookingByIdStop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/parkings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getParkings"];
        put?: never;
        post: operations["postParkings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/parkings/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getParkingsById"];
        put?: never;
        post: operations["postParkingsById"];
        delete: operations["deleteParkingsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicle"];
        put: operations["putVehicle"];
        post: operations["postVehicle"];
        delete: operations["deleteVehicle"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/booking": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdBooking"];
        put?: never;
        post: operations["postVehicleByIdBooking"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/customcan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdCustomcan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/{id}/trips": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdTrips"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/honk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleHonk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/immobilize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleImmobilize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/lights/on": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleLightsOn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/lock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleLock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleStart"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/trunk/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleTrunkUnlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleUnlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/windows/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleWindowsClose"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/vehicle/windows/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postVehicleWindowsOpen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminApplications"];
        put?: never;
        post: operations["postAdminApplications"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications/{appId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminApplicationsByAppId"];
        put: operations["putAdminApplicationsByAppId"];
        post?: never;
        delete: operations["deleteAdminApplicationsByAppId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications/{appId}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminApplicationsByAppIdKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/applications/{appId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminApplicationsByAppIdSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminAuditVerify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-connection": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminDeviceConnection"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-imports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminDeviceImports"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/device-models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminDeviceModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminDevices"];
        put?: never;
        post: operations["postAdminDevices"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminDevicesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/certificates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminDevicesByIdCertificates"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminDevicesByIdKey"];
        put?: never;
        post: operations["postAdminDevicesByIdKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["putAdminDevicesByIdLink"];
        post: operations["postAdminDevicesByIdLink"];
        delete: operations["deleteAdminDevicesByIdLink"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminDevicesByIdRelease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminDevicesByIdSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/devices/{id}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminDevicesByIdTokens"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminOperators"];
        put?: never;
        post: operations["postAdminOperators"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["putAdminOperatorsByName"];
        post?: never;
        delete: operations["deleteAdminOperatorsByName"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators/{name}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminOperatorsByNamePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/operators/{name}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminOperatorsByNameSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/persons/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminPersonsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/persons/{id}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminPersonsByIdErase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/pipeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminPipeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminQuarantine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminQuarantineById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/{id}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminQuarantineByIdOpen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/dismiss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminQuarantineDismiss"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/reasons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminQuarantineReasons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/quarantine/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminQuarantineReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/requests/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminRequestsByIdApprove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/requests/{id}/decline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminRequestsByIdDecline"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAdminUsers"];
        put?: never;
        post: operations["postAdminUsers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminUsersByUserId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminUsersByUserIdPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminUsersByUserIdSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAdminUsersByUserIdVehicles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/admin/users/{userId}/vehicles/{vehicleId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteAdminUsersByUserIdVehiclesByVehicleId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarm-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAlarmRules"];
        put?: never;
        post: operations["postAlarmRules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarm-rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["putAlarmRulesById"];
        post?: never;
        delete: operations["deleteAlarmRulesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAlarms"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/alarms/{id}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postAlarmsByIdAcknowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/bookings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getCalendar"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getCommands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDeviceTable"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/devices/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDeviceDetail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/geofences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getGeofences"];
        put?: never;
        post: operations["postGeofences"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/geofences/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["putGeofencesById"];
        post?: never;
        delete: operations["deleteGeofencesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/map": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getMap"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSession"];
        put?: never;
        post: operations["postSession"];
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postSessionPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdAccess"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/breaks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdBreaks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/fields": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdFields"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/gaps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdGaps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdLinks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/readings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdReadings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/trail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdTrail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/trips/{tripId}/track": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdTripsByTripIdTrack"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicle/{id}/values": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleByIdValues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/x/vehicles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVehicleTable"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Actions: {
            actions: ("IMMOBILIZE" | "CENTRAL-LOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "CLOSE-WINDOWS" | "OPEN-WINDOWS")[];
        };
        Alarm: {
            /** Format: date-time */
            acknowledgedAt?: string;
            acknowledgedBy?: string;
            appId: string;
            /** Format: date-time */
            clearedAt?: string;
            commandId?: string;
            id: string;
            /** @enum {string} */
            kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
            late: boolean;
            location?: components["schemas"]["AlarmLocation"];
            note?: string;
            /** Format: date-time */
            noticedAt: string;
            plate: string;
            /** Format: date-time */
            raisedAt: string;
            ruleId: string;
            ruleName: string;
            value?: number;
            vehicleId: string;
        };
        AlarmLocation: {
            latitude: number;
            longitude: number;
        };
        AlarmRule: {
            /** Format: date-time */
            activeFrom: string;
            appId: string;
            id: string;
            /** @enum {string} */
            kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
            name: string;
            parameters: {
                afterMinutes?: number;
                belowPercent?: number;
                belowVolts?: number;
                canKey?: string;
                geofenceId?: string;
                limitKmh?: number;
                /** @enum {string} */
                when?: "inside" | "outside";
            };
            vehicleIds?: string[];
        };
        Application: {
            appId: string;
            /** Format: date-time */
            createdAt: string;
            name: string;
        };
        ApplicationKey: {
            appId: string;
            appKey: string;
        };
        ApplicationSettings: {
            deviceBytesPerSecond: number;
            deviceUploadsPerSecond: number;
            tariffPerKm: number;
            tariffPerMinute: number;
            timeZone: string;
            version: string;
            /** @enum {string} */
            view: "dynamic" | "fleet" | "combined";
        };
        ArchivedVehicle: {
            /** @enum {string} */
            archived: "true" | "false";
            id: string;
        };
        AuditRow: {
            action: string;
            actor: string;
            address: string;
            /** Format: date-time */
            at: string;
            details: {
                [key: string]: unknown;
            };
            outcome: string;
            position: number;
            subject: string;
        };
        AuditVerdict: {
            appId: string | null;
            erasedRows: number;
            fault?: {
                position: number;
                /** @enum {string} */
                reason: "CHANGED" | "MISSING" | "NOT_IN_CHAIN";
            };
            head: string;
            length: number;
            prunedThrough: number;
        };
        Booked: {
            authorization: components["schemas"]["BookedAuthorization"];
            authorizationId: string;
            booked: boolean;
            bookingId: string;
            /** @enum {string} */
            bookingType: "BOOKING" | "FREE_FLOATING";
            commands: components["schemas"]["DeviceCommands"];
            /** Format: date-time */
            from: string;
            until: string | "";
            userId: string;
            vehicleId: string;
        };
        BookedAuthorization: {
            id: string;
            key: string;
            token: string;
        };
        Booking: {
            authorizationId: string;
            /** @enum {string} */
            bookingType: "BOOKING" | "FREE_FLOATING";
            /** Format: date-time */
            from: string;
            id: string;
            until: string | "";
            userId: string;
            vehicleId: string;
        };
        Bookings: {
            bookings: components["schemas"]["Booking"][];
        };
        Break: {
            /** Format: date-time */
            from: string;
            /** @enum {string} */
            kind: "PRIVACY" | "GAP";
            missing?: number;
            /** Format: date-time */
            until?: string;
        };
        Calendar: {
            bookings: components["schemas"]["CalendarBooking"][];
            requests: components["schemas"]["PendingVehicleRequest"][];
        };
        CalendarBooking: {
            appId: string;
            bookingId: string;
            /** Format: date-time */
            from: string;
            plate: string;
            /** @enum {string} */
            state: "PLANNED" | "ACTIVE" | "ENDED" | "STOPPED";
            /** Format: date-time */
            stoppedAt?: string;
            /** @enum {string} */
            type: "BOOKING" | "FREE_FLOATING";
            /** Format: date-time */
            until?: string;
            userId: string;
            vehicleId: string;
        };
        CanDatum: {
            key: string;
            value: string;
        };
        Card: {
            id: string;
            statut: string;
        };
        Changed: {
            id: string;
        };
        CombinedStatus: {
            authenticated?: boolean;
            authorizations?: components["schemas"]["CurrentAuthorization"][];
            /** @enum {string} */
            bluetooth?: "CONNECTED" | "DISCONNECTED" | "";
            cardholder?: components["schemas"]["Card"][];
            ChargeLevel?: number;
            /** @enum {string} */
            chargingAdapterStatus?: "CONNECTED" | "DISCONNECTED" | "";
            /** @enum {string} */
            ChargingStatus?: "CHARGING" | "NOT_CHARGING" | "";
            ChargingUntil?: string | "";
            /** @enum {string} */
            doors?: "OPEN" | "CLOSED" | "";
            electric: components["schemas"]["Electric"];
            /** @enum {string} */
            engine?: "ON" | "OFF" | "";
            fuel?: number;
            fuelRange?: number;
            /** @enum {string} */
            handbrake?: "ON" | "OFF" | "";
            /** @enum {string} */
            immobilizer?: "LOCKED" | "UNLOCKED" | "";
            lastMessage?: string | "";
            /** @enum {string} */
            lights?: "ON" | "OFF" | "";
            location?: components["schemas"]["Location"];
            /** @enum {string} */
            lock?: "LOCKED" | "UNLOCKED" | "";
            mileage?: number;
            position?: components["schemas"]["Position"];
            privacy?: boolean;
            RemainingRange?: number;
            scenarii?: components["schemas"]["Scenarii"];
            sensors: components["schemas"]["Sensor"][];
            speed?: number;
            state: components["schemas"]["CombinedVehicleState"];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
            vehicleKey?: boolean;
            /** @enum {string} */
            windows?: "OPEN" | "CLOSED" | "";
        };
        CombinedVehicleState: {
            accident: boolean;
            Accident: boolean;
            breakdown: boolean;
            Breakdown: boolean;
            maintenance: boolean;
            Maintenance: boolean;
            stolen: boolean;
            Stolen: boolean;
            towing: boolean;
            Towing: boolean;
            unavailable: boolean;
            Unavailable: boolean;
        };
        Command: {
            /** @enum {string} */
            action: "IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            endedAt?: string;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            message?: string;
            reason?: string;
            /** Format: date-time */
            sentAt?: string;
            /** @enum {string} */
            state: "pending" | "sent" | "acknowledged" | "refused" | "unknown" | "expired";
            status?: string;
        };
        Commands: {
            commands: components["schemas"]["Command"][];
        };
        CurrentAuthorization: {
            authorizationId: string;
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            until: string;
            userId: string;
        };
        CustomCanReading: {
            can: components["schemas"]["CanDatum"][];
            location?: components["schemas"]["Location"];
            sensors: components["schemas"]["Sensor"][];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        Deleted: {
            deleted: boolean;
        };
        DeviceCommands: {
            closeWindows: string;
            demobilize: string;
            digitalOutput: {
                [key: string]: number;
            };
            encryptCloseWindows: boolean;
            encryptDemobilize: boolean;
            encryptHonk: boolean;
            encryptImmobilize: boolean;
            encryptLock: boolean;
            encryptOpenWindows: boolean;
            encryptReadio: boolean;
            encryptTurningLights: boolean;
            encryptUnlock: boolean;
            encryptUnlockTrunk: boolean;
            honk: string;
            immobilize: string;
            key: string;
            lock: string;
            openWindows: string;
            turningLights: string;
            unlock: string;
            unlockTrunk: string;
        };
        DeviceConnection: {
            teltonika: string[];
            urls: string[];
        };
        DeviceDetail: {
            appId: string;
            connected: boolean;
            /** Format: date-time */
            createdAt: string;
            deviceId: string;
            /** Format: date-time */
            disconnectedSince?: string;
            /** Format: date-time */
            lastUpload?: string;
            /** Format: date-time */
            linkedSince?: string;
            links: components["schemas"]["DeviceLink"][];
            model: string;
            plate: string;
            /** Format: date-time */
            previousSecretUntil?: string;
            /** @enum {string} */
            protocol: "mqtt" | "teltonika" | "source";
            quarantined: number;
            /** Format: date-time */
            secretIssuedAt: string;
            uploads: components["schemas"]["StoredUpload"][];
            vehicleId: string;
        };
        DeviceImport: {
            devices: components["schemas"]["NewDevice"][];
            faults: components["schemas"]["DeviceImportFault"][];
            lines: number;
        };
        DeviceImportFault: {
            column: string;
            line: number;
            message: string;
        };
        DeviceKey: {
            deviceId: string;
            key: string;
            keyVersion: number;
        };
        DeviceKeyState: {
            confirmedAt: string | null;
            confirmedVersion: number;
            deviceId: string;
            epoch: number;
            keyVersion: number;
            listVersion: number;
            publishedVersion: number;
            refusedReason: null | string;
        };
        DeviceLink: {
            /** Format: date-time */
            from?: string;
            plate: string;
            /** Format: date-time */
            until?: string;
            vehicleId: string;
        };
        DeviceModel: {
            actions: ("IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS")[];
            bluetooth: boolean;
            commands: {
                "CLOSE-WINDOWS"?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                HONK?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                IMMOBILIZE?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                LOCK?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                "OPEN-WINDOWS"?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                START?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                STATUS?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                "TURNING-LIGHTS"?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                UNLOCK?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
                "UNLOCK-TRUNK"?: {
                    refusal: string[];
                    success: string[];
                    text: string;
                };
            };
            digitalOutputs: {
                closeWindows?: number;
                demobilize?: number;
                honk?: number;
                immobilize?: number;
                lock?: number;
                openWindows?: number;
                turningLights?: number;
                unlock?: number;
                unlockTrunk?: number;
            };
            encryptedCommands: ("immobilize" | "demobilize" | "lock" | "unlock" | "honk" | "turningLights" | "unlockTrunk" | "openWindows" | "closeWindows" | "readio")[];
            name: string;
            proprietaryCan: boolean;
            /** @enum {string} */
            protocol: "mqtt" | "teltonika" | "source";
            scenarii: {
                crash_detection?: string;
                gnss_jamming?: string;
                gps_jamming?: string;
                towing_detection?: string;
            };
        };
        DeviceSecret: {
            deviceId: string;
            secret: string;
        };
        DeviceTable: {
            devices: components["schemas"]["TableDevice"][];
            total: number;
        };
        Done: Record<string, never>;
        Electric: {
            current: number;
            energy: number;
            lifetimeChargePower: number;
            lifetimePowerUse: number;
            maxCellTemperature: number;
            maxCellVoltage: number;
            maxEnergy: number;
            minCellTemperature: number;
            minCellVoltage: number;
            soc: number;
            soh: number;
            temperature: number;
            voltage: number;
        };
        ErasedPerson: {
            changed: {
                [key: string]: number;
            };
            pseudonym: string;
        };
        Field: {
            field: string;
            unit: string;
        };
        Fields: {
            fields: components["schemas"]["Field"][];
        };
        FleetVehicleDetail: {
            accessories: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[];
            bluetoothName: string;
            builder: string;
            deviceId: string;
            deviceModel: string;
            energy: string;
            Id: string;
            model: string;
            plate: string;
        };
        FleetVehicleState: {
            Accident: boolean;
            Breakdown: boolean;
            Maintenance: boolean;
            Stolen: boolean;
            Towing: boolean;
            Unavailable: boolean;
        };
        FleetVehicleStatus: {
            authenticated?: boolean;
            authorizations: components["schemas"]["CurrentAuthorization"][];
            /** @enum {string} */
            bluetooth: "CONNECTED" | "DISCONNECTED" | "";
            cardholder: components["schemas"]["Card"][];
            ChargeLevel: number;
            /** @enum {string} */
            chargingAdapterStatus: "CONNECTED" | "DISCONNECTED" | "";
            /** @enum {string} */
            ChargingStatus: "CHARGING" | "NOT_CHARGING" | "";
            ChargingUntil: string | "";
            /** @enum {string} */
            doors: "OPEN" | "CLOSED" | "";
            /** @enum {string} */
            engine: "ON" | "OFF" | "";
            fuel: number;
            fuelRange: number;
            /** @enum {string} */
            handbrake: "ON" | "OFF" | "";
            /** @enum {string} */
            immobilizer: "LOCKED" | "UNLOCKED" | "";
            lastMessage: string | "";
            /** @enum {string} */
            lights: "ON" | "OFF" | "";
            /** @enum {string} */
            lock: "LOCKED" | "UNLOCKED" | "";
            mileage: number;
            position?: components["schemas"]["Position"];
            privacy: boolean;
            RemainingRange: number;
            scenarii: components["schemas"]["Scenarii"];
            speed: number;
            state: components["schemas"]["FleetVehicleState"];
            vehicleKey: boolean;
            /** @enum {string} */
            windows: "OPEN" | "CLOSED" | "";
        };
        Gap: {
            /** Format: date-time */
            closedAt?: string;
            deviceId: string;
            fromSequence: number;
            missing: number;
            /** Format: date-time */
            since: string;
            /** @enum {string} */
            state: "OPEN" | "ARRIVED" | "RESTARTED" | "GIVEN_UP";
            untilSequence: number;
        };
        Geofence: {
            appId: string;
            geometry: components["schemas"]["GeofenceCentre"] | components["schemas"]["GeofencePolygon"];
            id: string;
            name: string;
            radiusMetres?: number;
        };
        GeofenceCentre: {
            coordinates: number[];
            /** @enum {string} */
            type: "Point";
        };
        GeofencePolygon: {
            coordinates: number[][][];
            /** @enum {string} */
            type: "Polygon";
        };
        Grant: {
            plate: string;
            /** @enum {string} */
            role: "viewer" | "driver" | "manager";
            vehicleId: string;
        };
        Health: {
            services: {
                [key: string]: components["schemas"]["ServiceHealth"];
            };
            /** @enum {string} */
            status: "ok" | "failing" | "draining";
        };
        HeldAuthorization: {
            authorizationId: string;
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            issuedAt: string;
            issuedBy?: string;
            /** @enum {string} */
            level: "LOCK_UNLOCK" | "DRIVE";
            /** Format: date-time */
            revokedAt?: string;
            /** Format: date-time */
            suspendedUntil?: string;
            /** Format: date-time */
            until: string;
            userId: string;
        };
        HeldGrant: {
            /** @enum {string} */
            role: "viewer" | "driver" | "manager";
            userId: string;
            username: string;
        };
        History: {
            status: components["schemas"]["HistoryReading"][];
        };
        HistoryReading: {
            electric: components["schemas"]["Electric"];
            location?: components["schemas"]["Location"];
            sensors: components["schemas"]["Sensor"][];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        LatestValue: {
            field?: string;
            group: string;
            name: string;
            /** Format: date-time */
            time: string;
            unit: string;
            value: string | number | boolean;
        };
        ListedDevice: {
            appId: string | null;
            /** Format: date-time */
            createdAt: string;
            deviceId: string;
            model: string;
            vehicleId: string | null;
        };
        ListedOperator: {
            appIds: string[];
            /** Format: date-time */
            createdAt: string;
            mustChangePassword: boolean;
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "administrator";
            usedAt: string | null;
            version: string;
        };
        LiveAlarmEvent: {
            data: components["schemas"]["Alarm"];
            /** @enum {string} */
            event: "alarm";
        };
        LiveCell: {
            count: number;
            id: string;
            latitude: number;
            longitude: number;
            moving: number;
            parked: number;
            silent: number;
        };
        LiveCells: {
            cells: components["schemas"]["LiveCell"][];
        };
        LiveCellsEvent: {
            data: components["schemas"]["LiveCells"];
            /** @enum {string} */
            event: "cells";
        };
        LiveChanges: {
            left: string[];
            vehicles: components["schemas"]["LiveVehicle"][];
        };
        LiveChangesEvent: {
            data: components["schemas"]["LiveChanges"];
            /** @enum {string} */
            event: "changes";
        };
        LiveCommand: {
            /** @enum {string} */
            action: "IMMOBILIZE" | "START" | "LOCK" | "UNLOCK" | "HONK" | "TURNING-LIGHTS" | "UNLOCK-TRUNK" | "OPEN-WINDOWS" | "CLOSE-WINDOWS" | "STATUS";
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            endedAt?: string;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            message?: string;
            reason?: string;
            /** Format: date-time */
            sentAt?: string;
            /** @enum {string} */
            state: "pending" | "sent" | "acknowledged" | "refused" | "unknown" | "expired";
            status?: string;
            vehicleId: string;
        };
        LiveCommandEvent: {
            data: components["schemas"]["LiveCommand"];
            /** @enum {string} */
            event: "command";
        };
        LiveLocation: {
            angle?: number;
            latitude: number;
            longitude: number;
            /** Format: date-time */
            time: string;
        };
        LiveReset: {
            /** @enum {string} */
            mode: "vehicles" | "cells";
            /** @enum {string} */
            reason: "START" | "EXPIRED" | "ACCESS" | "MODE";
        };
        LiveResetEvent: {
            data: components["schemas"]["LiveReset"];
            /** @enum {string} */
            event: "reset";
        };
        LiveSnapshot: {
            complete: boolean;
            vehicles: components["schemas"]["LiveVehicle"][];
        };
        LiveSnapshotEvent: {
            data: components["schemas"]["LiveSnapshot"];
            /** @enum {string} */
            event: "snapshot";
        };
        LiveVehicle: {
            alarms: ("towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command")[];
            appId: string;
            brand: string;
            deviceId: string;
            flags: ("towing" | "accident" | "maintenance" | "breakdown" | "stolen" | "unavailable")[];
            id: string;
            /** Format: date-time */
            lastContact?: string;
            location?: components["schemas"]["LiveLocation"];
            model: string;
            /** Format: date-time */
            parkedSince?: string;
            plate: string;
            soc?: number;
            speed?: number;
            /** @enum {string} */
            state: "moving" | "parked" | "silent" | "private";
            vin: string;
        };
        Location: {
            altitude: number;
            angle: number;
            latitude: number;
            longitude: number;
        };
        MapSettings: {
            attribution: string;
            fault?: string;
            /** @enum {string} */
            kind: "world" | "vector-file" | "raster-file" | "images" | "style";
            url?: string;
        };
        NewDevice: {
            claimCode?: string;
            deviceId: string;
            secret: string;
        };
        OperatorPassword: {
            name: string;
            password: string;
        };
        ParkingSpot: {
            address: string;
            address2: string;
            city: string;
            country: string;
            id: string;
            latitude?: number;
            longitude?: number;
            name: string;
            shortId: string;
            zipcode: string;
        };
        PendingVehicleRequest: {
            appId: string;
            /** Format: date-time */
            createdAt: string;
            plate: string;
            request: string;
            requestId: string;
            userId?: string;
        };
        PersonExport: {
            account: {
                [key: string]: unknown;
            }[];
            audit: {
                [key: string]: unknown;
            }[];
            authorizations: {
                [key: string]: unknown;
            }[];
            bookings: {
                [key: string]: unknown;
            }[];
            commands: {
                [key: string]: unknown;
            }[];
            grants: {
                [key: string]: unknown;
            }[];
            requests: {
                [key: string]: unknown;
            }[];
            sessions: {
                [key: string]: unknown;
            }[];
            trips: {
                [key: string]: unknown;
            }[];
        };
        PipelinePoint: {
            acceptedUploadsPerSecond: number | null;
            /** Format: date-time */
            at: string;
            connectedDevices: number | null;
            databaseBytes: number | null;
            heldBytes: number | null;
            lagP50Ms: number | null;
            lagP99Ms: number | null;
            oldestJobSeconds: number | null;
            pubackP50Ms: number | null;
            pubackP99Ms: number | null;
            quarantinedUploadsPerSecond: number | null;
            redisBytes: number | null;
            refusedPacketsPerSecond: number | null;
            storedReadingsPerSecond: number | null;
            waitingJobs: number | null;
        };
        Position: {
            latitude: number;
            longitude: number;
            /** Format: date-time */
            timestamp: string;
        };
        QuarantinedUpload: {
            bytes: number;
            deviceId: string;
            dismissedReason: null | string;
            faults: components["schemas"]["QuarantineFault"][];
            /** @enum {string} */
            format: "native" | "teltonika" | "traccar" | "flespi" | "tesla" | "owntracks" | "osmand";
            id: string;
            /** Format: date-time */
            receivedAt: string;
            resolvedAt: string | null;
            timesSeen: number;
        };
        QuarantineFault: {
            field?: string;
            index: number | null;
            message?: string;
            reason: string;
        };
        QuarantineReason: {
            devices: number;
            /** Format: date-time */
            newestAt: string;
            reason: string;
            uploads: number;
        };
        RecordedReading: {
            alarms?: {
                [key: string]: unknown;
            };
            can?: unknown[];
            deviceId: string;
            electric?: {
                [key: string]: unknown;
            };
            fleet?: {
                [key: string]: unknown;
            };
            location?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            receivedAt: string;
            sensors?: unknown[];
            sequence?: number;
            status?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            time: string;
        };
        ReleasedDevice: {
            claimCode: string;
            deviceId: string;
        };
        Scenarii: {
            crash_detection: components["schemas"]["Scenario"];
            gnss_jamming: components["schemas"]["Scenario"];
            gps_jamming: components["schemas"]["Scenario"];
            towing_detection: components["schemas"]["Scenario"];
        };
        Scenario: {
            action: string;
            active: boolean;
            available: boolean;
            triggered: boolean;
        };
        Sensor: {
            data: components["schemas"]["CanDatum"][];
            name: string;
        };
        Series: {
            count: number[];
            field: string;
            maximum: number[];
            mean: number[];
            minimum: number[];
            times: number[];
        };
        SeriesAnswer: {
            bucketSeconds: number;
            /** Format: date-time */
            from: string;
            /** @enum {string} */
            method: "READINGS" | "BUCKETS" | "SAMPLES";
            series: components["schemas"]["Series"][];
            /** Format: date-time */
            until: string;
        };
        ServiceHealth: {
            ok: boolean;
            state: string;
        };
        SignedInOperator: {
            applications: {
                appId: string;
                name: string;
            }[];
            /** @enum {string} */
            kind: "operator";
            limited: boolean;
            mustChangePassword: boolean;
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "administrator";
        };
        SignedInPerson: components["schemas"]["SignedInOperator"] | components["schemas"]["SignedInUser"];
        SignedInUser: {
            appId: string;
            applicationName: string;
            /** @enum {string} */
            kind: "user";
            mustChangePassword: boolean;
            userId: string;
            username: string;
        };
        Status: {
            autonomy: number;
            ignition: boolean;
            mileage: number;
            movement: boolean;
        };
        Stop: {
            /** Format: date-time */
            from: string;
            latitude: number;
            longitude: number;
            seconds: number;
            /** Format: date-time */
            until: string;
        };
        StoredUpload: {
            /** Format: date-time */
            firstTime: string;
            /** Format: date-time */
            lastTime: string;
            readings: number;
            /** Format: date-time */
            receivedAt: string;
            vehicleId: string;
        };
        TableDevice: {
            appId: string;
            connected: boolean;
            /** Format: date-time */
            createdAt: string;
            deviceId: string;
            /** Format: date-time */
            disconnectedSince?: string;
            /** Format: date-time */
            lastUpload?: string;
            /** Format: date-time */
            linkedSince?: string;
            model: string;
            plate: string;
            /** Format: date-time */
            previousSecretUntil?: string;
            /** @enum {string} */
            protocol: "mqtt" | "teltonika" | "source";
            quarantined: number;
            /** Format: date-time */
            secretIssuedAt: string;
            vehicleId: string;
        };
        TableLocation: {
            latitude: number;
            longitude: number;
            /** Format: date-time */
            time: string;
        };
        TableVehicle: {
            alarms: ("towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command")[];
            appId: string;
            brand: string;
            deviceId: string;
            energy: string;
            flags: ("towing" | "accident" | "maintenance" | "breakdown" | "stolen" | "unavailable")[];
            id: string;
            ignition?: boolean;
            /** Format: date-time */
            lastContact?: string;
            location?: components["schemas"]["TableLocation"];
            mileage?: number;
            model: string;
            /** Format: date-time */
            parkedSince?: string;
            plate: string;
            range?: number;
            soc?: number;
            speed?: number;
            /** @enum {string} */
            state: "moving" | "parked" | "silent" | "private" | "archived";
            /** Format: date-time */
            time?: string;
            vin: string;
        };
        Track: {
            geometry: {
                /** @constant */
                type: "LineString";
            } | null;
            properties: {
                coordTimes: string[];
                trip_id: string;
            };
            /** @constant */
            type: "Feature";
        };
        Trail: {
            points: components["schemas"]["TrailPoint"][];
            stops: components["schemas"]["Stop"][];
            totals: components["schemas"]["TrailTotals"];
        };
        TrailPoint: {
            angle?: number;
            /** @constant */
            gap?: true;
            latitude: number;
            longitude: number;
            speed?: number;
            time: number;
        };
        TrailTotals: {
            distance: number;
            gapSeconds: number;
            maximumSpeed: number;
            movingSeconds: number;
            stoppedSeconds: number;
        };
        Trip: {
            average_speed: number;
            cost: number;
            distance: number;
            duration: number;
            electric_consumption: number;
            electric_consumption_100km: number;
            first_position?: components["schemas"]["TripPosition"];
            fuel_consumption: number;
            fuel_consumption_100km: number;
            last_position?: components["schemas"]["TripPosition"];
            /** Format: date-time */
            timestamp: string;
            trip_id: string;
        };
        TripPosition: {
            latitude: number;
            longitude: number;
        };
        Trips: {
            trips: components["schemas"]["Trip"][];
        };
        UpdatedBooking: {
            authorizationId: string;
            key: string;
            token: string;
            updated: boolean;
        };
        User: {
            grants: components["schemas"]["Grant"][];
            mustChangePassword: boolean;
            userId: string;
            username: string;
            vehicleIds: string[];
        };
        Vehicle: {
            brand: string;
            id: string;
            model: string;
            plate: string;
            vin: string;
        };
        VehicleAccess: {
            authorizations: components["schemas"]["HeldAuthorization"][];
            grants: components["schemas"]["HeldGrant"][];
        };
        VehicleLink: {
            deviceId: string;
            /** Format: date-time */
            from?: string;
            /** Format: date-time */
            until?: string;
        };
        VehicleRequest: {
            appId: string;
            /** Format: date-time */
            createdAt: string;
            decidedAt: string | null;
            plate: string;
            reason: string | null;
            request: string;
            requestId: string;
            /** @enum {string} */
            state: "pending" | "approved" | "declined";
            userId: string | null;
            vehicleId: string | null;
        };
        VehicleState: {
            accident: boolean;
            breakdown: boolean;
            maintenance: boolean;
            stolen: boolean;
            towing: boolean;
            unavailable: boolean;
        };
        VehicleStatus: {
            electric: components["schemas"]["Electric"];
            location?: components["schemas"]["Location"];
            sensors: components["schemas"]["Sensor"][];
            state: components["schemas"]["VehicleState"];
            status: components["schemas"]["Status"];
            timestamp: number;
            vehicle: components["schemas"]["Vehicle"];
        };
        VehicleTable: {
            total?: number;
            vehicles: components["schemas"]["TableVehicle"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getBookingById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Booking"];
                };
            };
        };
    };
    putBookingById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    from?: string | number | null;
                    until?: string | number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UpdatedBooking"];
                };
            };
        };
    };
    deleteBookingById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        deleted: boolean;
                    };
                };
            };
        };
    };
    postBookingByIdStop: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        stopped: boolean;
                    };
                };
            };
        };
    };
    getParkings: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        parkings: components["schemas"]["ParkingSpot"][];
                    };
                };
            };
        };
    };
    postParkings: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    address: string;
                    address2?: string | null;
                    city: string;
                    country: string;
                    latitude?: number | null;
                    longitude?: number | null;
                    name: string;
                    zipcode: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        parking_id: string;
                    };
                };
            };
        };
    };
    getParkingsById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkingSpot"];
                };
            };
        };
    };
    postParkingsById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    address?: string | null;
                    address2?: string | null;
                    city?: string | null;
                    country?: string | null;
                    latitude?: number | null;
                    longitude?: number | null;
                    name?: string | null;
                    zipcode?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkingSpot"];
                };
            };
        };
    };
    deleteParkingsById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    getVehicle: {
        parameters: {
            query?: {
                id?: string;
                plate?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FleetVehicleDetail"];
                };
            };
        };
    };
    putVehicle: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    archived: boolean | (0 | 1) | string;
                    id: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchivedVehicle"];
                };
            };
        };
    };
    postVehicle: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    plate: string;
                    /** @default  */
                    request?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        request_id: string;
                    };
                };
            };
        };
    };
    deleteVehicle: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    id: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    getVehicleById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FleetVehicleDetail"];
                };
            };
        };
    };
    getVehicleByIdBooking: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bookings"];
                };
            };
        };
    };
    postVehicleByIdBooking: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    driver?: string | null;
                    from: string | number;
                    /** @enum {string} */
                    type: "BOOKING" | "FREE_FLOATING";
                    until?: string | number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Booked"];
                };
            };
        };
    };
    getVehicleByIdCustomcan: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CustomCanReading"];
                };
            };
        };
    };
    getVehicleByIdHistory: {
        parameters: {
            query: {
                after?: string;
                from: string | number;
                limit?: number;
                offset?: number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
        };
    };
    getVehicleByIdStatus: {
        parameters: {
            query?: {
                view?: "dynamic" | "fleet";
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CombinedStatus"] | components["schemas"]["VehicleStatus"] | components["schemas"]["FleetVehicleStatus"];
                };
            };
        };
    };
    getVehicleByIdTrips: {
        parameters: {
            query?: {
                from?: string | number;
                limit?: number;
                offset?: number;
                until?: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trips"];
                };
            };
        };
    };
    getVehicleActions: {
        parameters: {
            query: {
                vehicleId: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Actions"];
                };
            };
        };
    };
    postVehicleHonk: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    postVehicleImmobilize: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "LOCKED" | "UNLOCKED";
                    };
                };
            };
        };
    };
    postVehicleLightsOn: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postVehicleLock: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "CLOSED" | "OPEN";
                    };
                };
            };
        };
    };
    postVehicleStart: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "UNLOCKED" | "LOCKED";
                    };
                };
            };
        };
    };
    postVehicleTrunkUnlock: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postVehicleUnlock: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        Status: "OPEN" | "CLOSED";
                    };
                };
            };
        };
    };
    postVehicleWindowsClose: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postVehicleWindowsOpen: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    getAdminApplications: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        applications: components["schemas"]["Application"][];
                    };
                };
            };
        };
    };
    postAdminApplications: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationKey"];
                };
            };
        };
    };
    getAdminApplicationsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationSettings"];
                };
            };
        };
    };
    putAdminApplicationsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    deviceBytesPerSecond?: number | null;
                    deviceUploadsPerSecond?: number | null;
                    tariffPerKm?: number | null;
                    tariffPerMinute?: number | null;
                    timeZone?: string | null;
                    version?: string | null;
                    view?: ("dynamic" | "fleet" | "combined") | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationSettings"];
                };
            };
        };
    };
    deleteAdminApplicationsByAppId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postAdminApplicationsByAppIdKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 24 */
                    overlapHours?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplicationKey"];
                };
            };
        };
    };
    deleteAdminApplicationsByAppIdSessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                appId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ended: number;
                    };
                };
            };
        };
    };
    getAdminAudit: {
        parameters: {
            query?: {
                after?: number;
                appId?: string;
                from?: string | number;
                limit?: number;
                order?: "oldest" | "newest";
                search?: string;
                until?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        audit: components["schemas"]["AuditRow"][];
                    };
                };
            };
        };
    };
    getAdminAuditVerify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        chains: components["schemas"]["AuditVerdict"][];
                        ok: boolean;
                    };
                };
            };
        };
    };
    getAdminDeviceConnection: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceConnection"];
                };
            };
        };
    };
    postAdminDeviceImports: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default false */
                    check?: boolean | null;
                    csv: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceImport"];
                };
            };
        };
    };
    getAdminDeviceModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        models: components["schemas"]["DeviceModel"][];
                    };
                };
            };
        };
    };
    getAdminDevices: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        devices: components["schemas"]["ListedDevice"][];
                    };
                };
            };
        };
    };
    postAdminDevices: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    appId?: string | null;
                    /** @default  */
                    bluetoothName?: string | null;
                    /** @default  */
                    bluetoothPin?: string | null;
                    id: string;
                    model: string;
                    vehicleId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewDevice"];
                };
            };
        };
    };
    deleteAdminDevicesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    deleteAdminDevicesByIdCertificates: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    getAdminDevicesByIdKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceKeyState"];
                };
            };
        };
    };
    postAdminDevicesByIdKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceKey"];
                };
            };
        };
    };
    putAdminDevicesByIdLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    fromVehicleId?: string | null;
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postAdminDevicesByIdLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    deleteAdminDevicesByIdLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    vehicleId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postAdminDevicesByIdRelease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleasedDevice"];
                };
            };
        };
    };
    postAdminDevicesByIdSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default 0 */
                    overlapSeconds?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceSecret"];
                };
            };
        };
    };
    deleteAdminDevicesByIdTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        epoch: number;
                    };
                };
            };
        };
    };
    getAdminOperators: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        operators: components["schemas"]["ListedOperator"][];
                    };
                };
            };
        };
    };
    postAdminOperators: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default [] */
                    appIds?: string[] | null;
                    /** @default false */
                    mustChangePassword?: boolean | null;
                    name: string;
                    /** @enum {string} */
                    role: "viewer" | "operator" | "administrator";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorPassword"];
                };
            };
        };
    };
    putAdminOperatorsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    appIds?: string[] | null;
                    role?: ("viewer" | "operator" | "administrator") | null;
                    version?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedOperator"];
                };
            };
        };
    };
    deleteAdminOperatorsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postAdminOperatorsByNamePassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorPassword"];
                };
            };
        };
    };
    deleteAdminOperatorsByNameSessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    getAdminPersonsById: {
        parameters: {
            query?: {
                appId?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PersonExport"];
                };
            };
        };
    };
    postAdminPersonsByIdErase: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    appId?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasedPerson"];
                };
            };
        };
    };
    getAdminPipeline: {
        parameters: {
            query?: {
                from?: string | number;
                points?: number;
                until?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        points: components["schemas"]["PipelinePoint"][];
                        stepSeconds: number;
                    };
                };
            };
        };
    };
    getAdminQuarantine: {
        parameters: {
            query?: {
                after?: number;
                deviceId?: string;
                limit?: number;
                open?: boolean | (0 | 1) | string;
                order?: "oldest" | "newest";
                reason?: string;
                vehicleId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        quarantine: components["schemas"]["QuarantinedUpload"][];
                    };
                };
            };
        };
    };
    getAdminQuarantineById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuarantinedUpload"];
                };
            };
        };
    };
    postAdminQuarantineByIdOpen: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        base64: string;
                        deviceId: string;
                        id: string;
                        readings: unknown[];
                    };
                };
            };
        };
    };
    postAdminQuarantineDismiss: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    ids: string[];
                    reason: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        dismissed: number;
                    };
                };
            };
        };
    };
    getAdminQuarantineReasons: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        reasons: components["schemas"]["QuarantineReason"][];
                    };
                };
            };
        };
    };
    postAdminQuarantineReplay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    all?: true | null;
                    ids?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        replayed: number;
                    };
                };
            };
        };
    };
    getAdminRequests: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                limit?: number;
                state?: "pending" | "approved" | "declined";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        requests: components["schemas"]["VehicleRequest"][];
                    };
                };
            };
        };
    };
    postAdminRequestsByIdApprove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default [] */
                    accessories?: ("TEMPERATURE-SENSOR" | "CARDHOLDER" | "KEY-DETECTOR")[] | null;
                    /** @default  */
                    brand?: string | null;
                    /** @default  */
                    energy?: string | null;
                    /** @default  */
                    gearbox?: ("" | "AUTOMATIC" | "MANUAL") | null;
                    /** @default  */
                    kind?: string | null;
                    /** @default  */
                    model?: string | null;
                    plate?: string | null;
                    /** @default 0 */
                    seats?: number | null;
                    /** @default  */
                    vin?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    postAdminRequestsByIdDecline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    getAdminUsers: {
        parameters: {
            query: {
                appId: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    postAdminUsers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId: string;
                    /** @default false */
                    mustChangePassword?: boolean | null;
                    password: string;
                    username: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        userId: string;
                    };
                };
            };
        };
    };
    deleteAdminUsersByUserId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postAdminUsersByUserIdPassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default true */
                    mustChangePassword?: boolean | null;
                    password: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    deleteAdminUsersByUserIdSessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postAdminUsersByUserIdVehicles: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    fromRole?: ("viewer" | "driver" | "manager") | null;
                    /** @default driver */
                    role?: ("viewer" | "driver" | "manager") | null;
                    vehicleId: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    deleteAdminUsersByUserIdVehiclesByVehicleId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
                vehicleId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    getAlarmRules: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        rules: components["schemas"]["AlarmRule"][];
                    };
                };
            };
        };
    };
    postAlarmRules: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
                    name: string;
                    parameters?: {
                        afterMinutes?: number;
                        belowPercent?: number;
                        belowVolts?: number;
                        canKey?: string;
                        geofenceId?: string;
                        limitKmh?: number;
                        /** @enum {string} */
                        when?: "inside" | "outside";
                    } | null;
                    vehicleIds?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    putAlarmRulesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    kind: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
                    name: string;
                    parameters?: {
                        afterMinutes?: number;
                        belowPercent?: number;
                        belowVolts?: number;
                        canKey?: string;
                        geofenceId?: string;
                        limitKmh?: number;
                        /** @enum {string} */
                        when?: "inside" | "outside";
                    } | null;
                    vehicleIds?: string[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    deleteAlarmRulesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    getAlarms: {
        parameters: {
            query?: {
                acknowledged?: boolean;
                after?: string;
                from?: string | number;
                kind?: "towing" | "crash" | "jamming" | "silent" | "low-battery" | "geofence" | "speed" | "unanswered-command";
                limit?: number;
                ruleId?: string;
                state?: "open" | "cleared";
                until?: string | number;
                vehicleId?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        alarms: components["schemas"]["Alarm"][];
                    };
                };
            };
        };
    };
    postAlarmsByIdAcknowledge: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    note?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alarm"];
                };
            };
        };
    };
    getCalendar: {
        parameters: {
            query: {
                after?: string;
                from: string | number;
                limit?: number;
                until: string | number;
                vehicleId?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Calendar"];
                };
            };
        };
    };
    getCommands: {
        parameters: {
            query: {
                limit?: number;
                vehicleId: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Commands"];
                };
            };
        };
    };
    getDeviceTable: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                connected?: boolean | (0 | 1) | string;
                limit?: number;
                linked?: boolean | (0 | 1) | string;
                model?: string;
                q?: string;
                quarantined?: boolean | (0 | 1) | string;
                sort?: "deviceId" | "model" | "appId" | "plate" | "createdAt" | "secretIssuedAt" | "lastUpload" | "quarantined" | "-deviceId" | "-model" | "-appId" | "-plate" | "-createdAt" | "-secretIssuedAt" | "-lastUpload" | "-quarantined";
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceTable"];
                };
            };
        };
    };
    getDeviceDetail: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceDetail"];
                };
            };
        };
    };
    getEvents: {
        parameters: {
            query?: {
                bbox?: string;
                once?: boolean;
                types?: string;
                vehicles?: string;
                zoom?: number;
            };
            header?: {
                "Last-Event-Id"?: string;
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["LiveResetEvent"] | components["schemas"]["LiveSnapshotEvent"] | components["schemas"]["LiveChangesEvent"] | components["schemas"]["LiveCellsEvent"] | components["schemas"]["LiveCommandEvent"] | components["schemas"]["LiveAlarmEvent"];
                };
            };
        };
    };
    getGeofences: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        geofences: components["schemas"]["Geofence"][];
                    };
                };
            };
        };
    };
    postGeofences: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    geometry: components["schemas"]["GeofenceCentre"] | components["schemas"]["GeofencePolygon"];
                    name: string;
                    radiusMetres?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    putGeofencesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    geometry: components["schemas"]["GeofenceCentre"] | components["schemas"]["GeofencePolygon"];
                    name: string;
                    radiusMetres?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    deleteGeofencesById: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    getMap: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MapSettings"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedInPerson"];
                };
            };
        };
    };
    postSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    appId?: string;
                    name?: string | null;
                    password: string;
                    username?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedInPerson"];
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    postSessionPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    currentPassword: string;
                    newPassword: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    deleteSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Done"];
                };
            };
        };
    };
    getVehicleByIdAccess: {
        parameters: {
            query?: {
                ended?: boolean | (0 | 1) | string;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VehicleAccess"];
                };
            };
        };
    };
    getVehicleByIdBreaks: {
        parameters: {
            query: {
                from: string | number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        breaks: components["schemas"]["Break"][];
                    };
                };
            };
        };
    };
    getVehicleByIdFields: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fields"];
                };
            };
        };
    };
    getVehicleByIdGaps: {
        parameters: {
            query?: {
                days?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        gaps: components["schemas"]["Gap"][];
                    };
                };
            };
        };
    };
    getVehicleByIdLinks: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        links: components["schemas"]["VehicleLink"][];
                    };
                };
            };
        };
    };
    getVehicleByIdReadings: {
        parameters: {
            query?: {
                before?: string | number;
                limit?: number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        readings: components["schemas"]["RecordedReading"][];
                    };
                };
            };
        };
    };
    getVehicleByIdSeries: {
        parameters: {
            query: {
                fields: string;
                from: string | number;
                points?: number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeriesAnswer"];
                };
            };
        };
    };
    getVehicleByIdTrail: {
        parameters: {
            query: {
                from: string | number;
                points?: number;
                until: string | number;
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trail"];
                };
            };
        };
    };
    getVehicleByIdTripsByTripIdTrack: {
        parameters: {
            query?: {
                format?: "geojson" | "gpx";
            };
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
                tripId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/geo+json": components["schemas"]["Track"];
                    "application/gpx+xml": string;
                };
            };
        };
    };
    getVehicleByIdValues: {
        parameters: {
            query?: never;
            header?: {
                "X-Application"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        values: components["schemas"]["LatestValue"][];
                    };
                };
            };
        };
    };
    getVehicleTable: {
        parameters: {
            query?: {
                after?: string;
                appId?: string;
                brand?: string;
                columns?: string;
                energy?: string;
                flag?: "towing" | "accident" | "maintenance" | "breakdown" | "stolen" | "unavailable";
                format?: "json" | "csv";
                limit?: number;
                model?: string;
                q?: string;
                sort?: "plate" | "vin" | "brand" | "model" | "energy" | "appId" | "deviceId" | "state" | "id" | "lastContact" | "time" | "speed" | "mileage" | "soc" | "range" | "parkedSince" | "-plate" | "-vin" | "-brand" | "-model" | "-energy" | "-appId" | "-deviceId" | "-state" | "-id" | "-lastContact" | "-time" | "-speed" | "-mileage" | "-soc" | "-range" | "-parkedSince";
                state?: string;
            };
            header?: {
                "X-Application"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    Link?: string;
                    "X-Has-More"?: "true" | "false";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VehicleTable"];
                    "text/csv": string;
                };
            };
        };
    };
}
